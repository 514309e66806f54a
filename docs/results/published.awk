# Sums up each collection of `lab published`, and keeps its table of confidences.
BEGIN { FS = "[ ,.]+" }
function row() {
    if (sums != "") print sums " | " (first == "" ? " |  |  |  | " : first) " |"
    sums = first = ""
}
/^## / {
    row()
    name = substr($0, 4)
    sub(/, in the layout of the tools/, "", name)
    if (name ~ /How often/) { print ""; confidences = 1 }
    else if (!heading++) {
        print "| collection | captures | right | admitted | insufficient | wrong | unread | first: right | admitted | insufficient | wrong | unread |"
        print "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |"
    }
}
/ right to admit that / { sums = "| " name " | " $19 " | " $1 " | " $3 " | " $12 " | " $14 " | " $16 }
/^When they were met/ { first = $12 " | " $14 " | " $18 " | " $20 " | " $22 }
confidences && /^\|/
