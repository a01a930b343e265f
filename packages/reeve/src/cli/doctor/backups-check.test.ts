import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backupFindings } from './server-checks.ts'

const target = '/backups'
const day = { interval_seconds: '86400', target, error: '', last_good: '2026-11-17T00:00:00Z' }

const cases = [
  { name: 'none configured', stats: undefined, state: undefined, says: '' },
  {
    name: 'a fresh one',
    stats: { ...day, age_seconds: '7200' },
    state: 'ok',
    says: 'The last verified backup is 2 h old (/backups).',
  },
  {
    name: 'one as old as allowed',
    stats: { ...day, age_seconds: '172800' },
    state: 'ok',
    says: 'The last verified backup is 48 h old (/backups).',
  },
  {
    name: 'one that is too old',
    stats: { ...day, age_seconds: '172801' },
    state: 'bad',
    says: 'The last verified backup is 48 h old (/backups).',
  },
  {
    name: 'a fresh one, and a later one that failed',
    stats: { ...day, age_seconds: '90', error: 'disk full' },
    state: 'warning',
    says: 'The last verified backup is 90 s old (/backups): disk full',
  },
  {
    name: 'none yet',
    stats: { ...day, age_seconds: '10', last_good: '' },
    state: 'ok',
    says: 'There is no verified backup yet (/backups).',
  },
]
for (const { name, stats, state, says } of cases)
  test(`doctor: backups: ${name}`, () => {
    const [finding] = backupFindings(stats)
    assert.equal(finding?.state, state)
    assert.equal(finding?.what ?? '', says)
  })
