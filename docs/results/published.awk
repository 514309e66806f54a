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
/ rightly insufficient, / { sums = "| " name " | " $13 " | " $1 " | " $3 " | " $6 " | " $8 " | " $10 }
/^At first meeting, / { first = $11 " | " $13 " | " $17 " | " $19 " | " $21 }
confidences && /^\|/
