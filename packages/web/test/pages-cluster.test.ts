import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routes } from '../src/site-map.ts'
import { ADDRESSES, isGoverning } from './addresses.ts'
import { walkPages } from './walk.ts'

test('every page of the site map is walked', () => {
  assert.deepEqual(
    routes.map(({ path }) => path),
    Object.keys(ADDRESSES),
  )
})

// The other half is in pages-governance.test.ts.
walkPages((path) => !isGoverning(path))
