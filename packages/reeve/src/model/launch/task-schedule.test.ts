import assert from 'node:assert/strict'
import test from 'node:test'
import { createTimeZoneOffset } from '@reeve/kit/time-zone.ts'
import { parseTaskCron, scheduleWindow } from './task-schedule.ts'

const offsetAt = createTimeZoneOffset()

interface Case {
  readonly name: string
  readonly cron: readonly [start: string, end: string, zone?: string]
  readonly now: string
  readonly isOpen: boolean
  readonly changes: string
}

const OFFICE = ['30 9 * * MON-FRI', '0 16', 'UTC'] as const
const NIGHT = ['0 22 * * *', '0 6', 'UTC'] as const

// 2026-11-18 is a Wednesday.
const cases: readonly Case[] = [
  {
    name: 'closed before its start',
    cron: OFFICE,
    now: '2026-11-18T09:29:59Z',
    isOpen: false,
    changes: '2026-11-18T09:30:00Z',
  },
  {
    name: 'open from its start',
    cron: OFFICE,
    now: '2026-11-18T09:30:00Z',
    isOpen: true,
    changes: '2026-11-18T16:00:00Z',
  },
  {
    name: 'closed from its end',
    cron: OFFICE,
    now: '2026-11-18T16:00:00Z',
    isOpen: false,
    changes: '2026-11-19T09:30:00Z',
  },
  {
    name: 'closed on other days',
    cron: OFFICE,
    now: '2026-11-21T12:00:00Z',
    isOpen: false,
    changes: '2026-11-23T09:30:00Z',
  },
  {
    name: 'open across midnight',
    cron: NIGHT,
    now: '2026-11-18T02:00:00Z',
    isOpen: true,
    changes: '2026-11-18T06:00:00Z',
  },
  {
    name: 'of a time zone',
    cron: ['0 9 * * *', '0 17', 'Asia/Tokyo'],
    now: '2026-11-18T00:30:00Z',
    isOpen: true,
    changes: '2026-11-18T08:00:00Z',
  },
  {
    name: 'of the zone of the machine',
    cron: ['0 9 * * *', '0 17'],
    now: '2026-11-18T08:30:00Z',
    isOpen: true,
    changes: '2026-11-18T16:00:00Z',
  },
  {
    name: 'that opens when the one before closes',
    cron: ['0 6 * * *', '0 6', 'UTC'],
    now: '2026-11-18T06:00:00Z',
    isOpen: true,
    changes: '2026-11-19T06:00:00Z',
  },
]

for (const { name, cron, now, isOpen, changes } of cases)
  test(`schedule of a task: a window is ${name}`, () => {
    const [Start, End, Timezone = ''] = cron
    const around = { nowMs: Date.parse(now), offsetAt, localZone: 'Europe/Berlin' }
    const window = scheduleWindow({ Cron: { Start, End, Timezone } }, around)
    assert.deepEqual(window, { isOpen, nextChangeMs: Date.parse(changes) })
  })

test('schedule of a task: window that never reopens', () => {
  const around = { nowMs: Date.parse('2026-11-18T06:00:00Z'), offsetAt, localZone: 'UTC' }
  const Cron = { Start: '0 6 * * * 2020', End: '0 7', Timezone: '' }
  assert.deepEqual(scheduleWindow({ Cron }, around), { isOpen: false, nextChangeMs: undefined })
})

for (const [Start, End] of [
  ['nonsense', '0 4'],
  ['0 3 * * *', '0'],
  ['0 3 * * *', '0 24'],
  ['0 3 * * *', '*/5 4'],
  ['0 3 * * *', ''],
] as const)
  test(`schedule of a task: ${Start} to ${End} is invalid`, () => {
    assert.equal(parseTaskCron({ Start, End }).ok, false)
  })
