import assert from 'node:assert/strict'
import test from 'node:test'
import { checkCronShape } from './cron-shape.ts'

const good = [
  '* * * * *',
  '*/5 0-23/2 1,15 JAN-MAR mon-fri',
  '0 0 L * ?',
  '0 0 LW * *',
  '0 0 15W * *',
  '0 0 * * 5L',
  '0 0 * * FRI#2',
  '0 0 * * 7',
  '0 0 1 1 * 2030',
  '30 0 0 1 1 * 2030-2040',
  '  0 0 * * *  ',
  '@daily',
  '@yearly',
]
for (const spec of good)
  test(`cron shape: ${spec} is one`, () => assert.equal(checkCronShape(spec), undefined))

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
  ['* * * * * 1969', 'syntax error in year field: "1969"'],
  ['5-1 * * * *', 'syntax error in minute field: "5-1"'],
  ['*/0 * * * *', 'syntax error in minute field: "*/0"'],
  ['1,,2 * * * *', 'syntax error in minute field: "1,,2"'],
  ['1/2/3 * * * *', 'syntax error in minute field: "1/2/3"'],
  ['@reboot', 'unrecognized macro "@reboot"'],
]
for (const [spec, problem] of bad)
  test(`cron shape: ${spec} is none`, () => assert.equal(checkCronShape(spec), problem))
