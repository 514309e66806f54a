-- One record of the latencies of a wait event in microseconds, all instances added up.
-- Usage: @feeds/oracle_event_histogram_micro.sql "db file sequential read"     (Oracle 12c and later)
-- Counts run since the instances were started; iowhy takes the difference of two records.
set heading off feedback off pagesize 0 linesize 300 trimspool on verify off
define event = '&1'
with now as (
  select systimestamp at, sys_extract_utc(systimestamp) utc from dual
), record as (
  select 1 part, 0 place, '<begin record>' line from dual
  union all
  -- Microseconds since 1970, so that midnight is no event.
  select 2, 0, 'timestamp,microsec,' || to_char(
           (to_date(to_char(utc, 'YYYYMMDDHH24MISS'), 'YYYYMMDDHH24MISS') - date '1970-01-01')
           * 86400 * 1000000 + to_number(to_char(utc, 'FF6')), 'FM99999999999999999990')
         || ',' || to_char(at, 'YYYY-MM-DD HH24:MI:SS.FF3 TZH:TZM') from now
  union all
  select 3, 0, 'label,' || replace('&event', ',', ' ') from dual
  union all
  select 4, 0, 'latencyunit,microsec' from dual
  union all
  select 5, 0, 'datasource,oracle' from dual
  union all
  select 6, wait_time_micro, wait_time_micro || ',' || sum(wait_count)
    from gv$event_histogram_micro where event = '&event' group by wait_time_micro
  union all
  select 7, 0, '<end record>' from dual
)
select line from record order by part, place;
