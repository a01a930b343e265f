import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchPath } from './route.ts'

const CASES = [
  { pattern: '/', path: '/', params: {} },
  { pattern: '/', path: '', params: {} },
  { pattern: '/jobs', path: '/jobs/', params: {} },
  { pattern: '/jobs/:id', path: '/jobs/a%20b', params: { id: 'a b' } },
  { pattern: '/jobs/:id/:tab', path: '/jobs/a/logs', params: { id: 'a', tab: 'logs' } },
  { pattern: '/jobs/:id', path: '/jobs', params: undefined },
  { pattern: '/jobs/:id', path: '/jobs/a/b', params: undefined },
  { pattern: '/jobs', path: '/nodes', params: undefined },
  { pattern: '/jobs/:id', path: '/jobs/%E0%A4%A', params: undefined },
]

for (const { pattern, path, params } of CASES)
  test(`${pattern} ${params === undefined ? 'does not fit' : 'fits'} ${path}`, () =>
    assert.deepEqual(matchPath(pattern, path), params))
