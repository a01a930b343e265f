import assert from 'node:assert/strict'
import test from 'node:test'
import { parseCron } from './parse.ts'

const good = [
  '* * * * *',
  '*/5 0-23/2 1,15 JAN-MAR mon-fri',
  '0 0 L * ?',
  '0 0 LW * *',
  '0 0 15W * *',
  '0 0 * * 5L',
  '0 0 * * FRI#2',
  '0 0 * * 7',
  '0 0 * December sunday',
  '0 0 * * monday-Friday',
  '0 0 1 1 * 2030',
  '30 0 0 1 1 * 2030-2040',
  '  0 0 * * *  ',
  '@daily',
  '@yearly',
]
for (const spec of good)
  test(`cron: ${spec} can be read`, () => assert.equal(parseCron(spec).ok, true))

const bad: readonly (readonly [spec: string, problem: string])[] = [
  ['', 'expected 5, 6 or 7 fields, found 0'],
  ['* * * *', 'expected 5, 6 or 7 fields, found 4'],
  ['* * * * * * * *', 'expected 5, 6 or 7 fields, found 8'],
  ['60 * * * *', 'syntax error in minute field: "60"'],
  ['* 24 * * *', 'syntax error in hour field: "24"'],
  ['* * 0 * *', 'syntax error in day of month field: "0"'],
  ['* * 32W * *', 'syntax error in day of month field: "32W"'],
  ['* * * FOO *', 'syntax error in month field: "FOO"'],
  ['* * * * 5#6', 'syntax error in day of week field: "5#6"'],
  ['* * * * 8', 'syntax error in day of week field: "8"'],
  ['* * * * FRID', 'syntax error in day of week field: "FRID"'],
  ['* * * * FRI-MON', 'syntax error in day of week field: "FRI-MON"'],
  ['* * * * * 1969', 'syntax error in year field: "1969"'],
  ['* * * * * 2100', 'syntax error in year field: "2100"'],
  ['60 * * * * * *', 'syntax error in second field: "60"'],
  ['5-1 * * * *', 'syntax error in minute field: "5-1"'],
  ['*/0 * * * *', 'syntax error in minute field: "*/0"'],
  ['1,,2 * * * *', 'syntax error in minute field: "1,,2"'],
  ['1/2/3 * * * *', 'syntax error in minute field: "1/2/3"'],
  ['1-2-3 * * * *', 'syntax error in minute field: "1-2-3"'],
  ['-1 * * * *', 'syntax error in minute field: "-1"'],
  ['@reboot', 'unrecognized macro "@reboot"'],
  [`${'1,'.repeat(600)}1 * * * *`, 'it is longer than 1024 characters'],
]
for (const [spec, problem] of bad)
  test(`cron: ${spec.slice(0, 40)} cannot be read`, () =>
    assert.deepEqual(parseCron(spec), { ok: false, error: problem }))

const fields: readonly (readonly [spec: string, minutes: readonly number[]])[] = [
  ['5 * * * *', [5]],
  ['5,3,5 * * * *', [3, 5]],
  ['10-13 * * * *', [10, 11, 12, 13]],
  ['*/20 * * * *', [0, 20, 40]],
  ['50/4 * * * *', [50, 54, 58]],
  ['0-10/5,59 * * * *', [0, 5, 10, 59]],
]
for (const [spec, minutes] of fields)
  test(`cron: the minutes of ${spec} are ${minutes.join(' ')}`, () => {
    const parsed = parseCron(spec)
    assert.deepEqual(parsed.ok && parsed.value.minutes, minutes)
  })

test('cron: five fields are on the full minute in every year', () => {
  const parsed = parseCron('* * * * *')
  assert.ok(parsed.ok)
  assert.deepEqual(parsed.value.seconds, [0])
  assert.deepEqual([parsed.value.years[0], parsed.value.years.at(-1)], [1970, 2099])
})
