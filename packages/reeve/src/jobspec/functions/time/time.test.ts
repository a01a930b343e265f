import { fails, testCalls } from '../../../../test/build/function-cases.ts'

const T = '2018-01-02T23:12:01Z'

testCalls([
  [`formatdate("DD MMM YYYY hh:mm ZZZ", "${T}")`, '"02 Jan 2018 23:12 UTC"'],
  [`formatdate("EEEE, DD-MMM-YY hh:mm:ss ZZZ", "${T}")`, '"Tuesday, 02-Jan-18 23:12:01 UTC"'],
  [
    `formatdate("EEE, DD MMM YYYY hh:mm:ss ZZZ", "2018-01-02T23:12:01-08:00")`,
    '"Tue, 02 Jan 2018 23:12:01 -0800"',
  ],
  [`formatdate("MMM DD, YYYY", "${T}")`, '"Jan 02, 2018"'],
  [`formatdate("HH:mmaa", "${T}")`, '"11:12pm"'],
  [`formatdate("H AA", "2018-01-02T00:00:00Z")`, '"12 AM"'],
  [`formatdate("h'h'mm'm' ''", "${T}")`, `"23h12m '"`],
  [`formatdate("'it''s'", "${T}")`, `"it's"`],
  [`formatdate("YY M D h m s", "2009-03-04T05:06:07Z")`, '"09 3 4 5 6 7"'],
  [`formatdate("MMMM Z ZZZZ ZZZZZ", "${T}")`, '"January Z +0000 +00:00"'],
  [`formatdate("Z ZZZZ ZZZZZ", "2018-01-02T23:12:01+05:30")`, '"+05:30 +0530 +05:30"'],
  [`formatdate("YYYY", "0042-01-01T00:00:00Z")`, '"0042"'],
  [`formatdate("ss", "2018-01-02T23:12:01.999Z")`, '"01"'],
  [`formatdate("", "${T}")`, '""'],
  [
    `formatdate("YYY", "${T}")`,
    fails('format has "YYY", which is no part of a time; write YYYY, YY'),
  ],
  [`formatdate("EE", "${T}")`, fails('write EEEE, EEE')],
  [`formatdate("x", "${T}")`, fails("quote letters that stand for themselves: 'text'")],
  [`formatdate("'abc", "${T}")`, fails("format has a ' without its closing '")],
  ['formatdate("YYYY", "2018-01-02")', fails('time must be a time like')],
  ['formatdate("YYYY", "2018-02-30T00:00:00Z")', fails('there is no such day')],
  ['formatdate("YYYY", "2018-13-01T00:00:00Z")', fails('there is no such day')],
  ['formatdate("YYYY", "2018-01-01T24:00:00Z")', fails('there is no such time of day')],
  ['formatdate("DD", "2020-02-29T00:00:00Z")', '"29"'],

  ['timeadd("2017-11-22T00:00:00Z", "10m")', '"2017-11-22T00:10:00Z"'],
  ['timeadd("2017-11-22T00:00:00Z", "-1h30m")', '"2017-11-21T22:30:00Z"'],
  ['timeadd("2017-11-22T00:00:00+02:00", "24h")', '"2017-11-23T00:00:00+02:00"'],
  ['timeadd("2017-11-22T00:00:00.5Z", "600ms")', '"2017-11-22T00:00:01Z"'],
  ['timeadd("2017-11-22T00:00:00Z", "0")', '"2017-11-22T00:00:00Z"'],
  ['timeadd("2017-11-22T00:00:00Z", "1d")', fails('duration must be like "1h30m"')],
  ['timeadd("2017-11-22T00:00:00Z", "10")', fails('duration must be like "1h30m"')],
  ['timeadd("yesterday", "1h")', fails('timestamp must be a time like')],
  ['timeadd("9999-12-31T23:00:00Z", "2h")', fails('duration leads beyond the year 9999')],
  [
    'timeadd("2017-11-22T00:00:00Z", "99999999999999999999h")',
    fails('duration leads beyond the year 9999'),
  ],
  ['timestamp()', fails('There is no function named "timestamp"')],
])

testCalls([['timestamp()', '"2023-11-14T22:13:20Z"']], { nowMs: 1_700_000_000_123 })
