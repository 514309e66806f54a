-- A record for each of the last N snapshots of AWR: the latencies of a wait event in milliseconds.
-- Usage: @feeds/oracle_awr_histogram.sql "db file sequential read" 48        (Diagnostics Pack)
-- Instances are added up. Where one was restarted the counts fall; iowhy leaves that stretch out.
set heading off feedback off pagesize 0 linesize 300 trimspool on verify off
define event = '&1'
define snapshots = '&2'
with chosen as (
  select dbid, snap_id, at from (
    select dbid, snap_id, max(end_interval_time) at,
           row_number() over (order by snap_id desc) age
      from dba_hist_snapshot where dbid = (select dbid from v$database) group by dbid, snap_id)
   where age <= &snapshots + 1
), record as (
  select snap_id, 1 part, 0 place, '<begin record>' line from chosen
  union all
  select snap_id, 2, 0, 'timestamp,microsec,' || to_char(
           (cast(at as date) - date '1970-01-01') * 86400 * 1000000, 'FM99999999999999999990')
         || ',' || to_char(at, 'YYYY-MM-DD HH24:MI:SS') from chosen
  union all
  select snap_id, 3, 0, 'label,' || replace('&event', ',', ' ') from chosen
  union all
  select snap_id, 4, 0, 'latencyunit,millisec' from chosen
  union all
  select snap_id, 5, 0, 'datasource,oracle' from chosen
  union all
  select snap_id, 6, wait_time_milli, wait_time_milli || ',' || sum(wait_count)
    from dba_hist_event_histogram join chosen using (dbid, snap_id)
   where event_name = '&event' group by snap_id, wait_time_milli
  union all
  select snap_id, 7, 0, '<end record>' from chosen
)
select line from record order by snap_id, part, place;
