import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redactUrl } from './request-normalization.ts'

const cases = [
  { url: '/v1/jobs?prefix=web', logged: '/v1/jobs?prefix=web' },
  { url: '/api/v2/uploads/state/s3cret', logged: '/api/v2/uploads/state/***' },
  {
    url: '/api/v2/run-logs/s3cret?limit=1&offset=0',
    logged: '/api/v2/run-logs/***?limit=1&offset=0',
  },
  { url: '/v1/x?key=1', logged: '/v1/x?key=1' },
]
for (const { url, logged } of cases)
  test(`loggedUrl: ${url}`, () => assert.equal(redactUrl(url), logged))
