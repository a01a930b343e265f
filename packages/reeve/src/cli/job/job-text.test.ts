import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aJob } from '../../../test/build/job.ts'
import { formatNextLaunch } from './job-text.ts'

const NOW = Date.parse('2026-03-28T12:00:00Z')
const DAILY = {
  Enabled: true,
  Spec: '',
  Specs: ['30 2 * * *'],
  SpecType: 'cron',
  ProhibitOverlap: false,
  TimeZone: 'UTC',
}

const cases = [
  { name: 'a time', periodic: {}, says: '2026-03-29T02:30:00Z (in 14h30m)' },
  {
    name: 'the earliest of several',
    periodic: { Specs: ['30 2 * * *', '0 13 * * *'] },
    says: '2026-03-28T13:00:00Z (in 1h)',
  },
  {
    name: 'a wall time that the next day skips',
    periodic: { TimeZone: 'Europe/Berlin' },
    says: '2026-03-30T00:30:00Z (in 1d12h)',
  },
  {
    name: 'a day that never comes',
    periodic: { Specs: ['0 0 30 2 *'] },
    says: 'never: no time to come fits its schedule',
  },
  { name: 'a schedule that is switched off', periodic: { Enabled: false }, says: '' },
  { name: 'a zone that only the server knows', periodic: { TimeZone: 'Mars/Olympus' }, says: '' },
]
for (const { name, periodic, says } of cases)
  test(`next launch: ${name}`, () => {
    assert.equal(formatNextLaunch(aJob({ Periodic: { ...DAILY, ...periodic } }), NOW), says)
  })

test('next launch: not of a job that was stopped, or has no schedule', () => {
  assert.equal(formatNextLaunch(aJob({ Periodic: DAILY, Stop: true }), NOW), '')
  assert.equal(formatNextLaunch(aJob({}), NOW), '')
})
