import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { nextStickyError, type StickyError } from './query-errors.ts'

const error = new Error('away')
const kept: StickyError = { error, errorUpdatedAt: 7 }
const cases = [
  { name: 'stays while it is asked again', errorUpdatedAt: 7, data: undefined, stays: true },
  { name: 'goes with the first data', errorUpdatedAt: 7, data: 'here', stays: false },
  { name: 'is not that of another read', errorUpdatedAt: 9, data: undefined, stays: false },
  { name: 'goes when all is begun anew', errorUpdatedAt: 0, data: undefined, stays: false },
]
for (const { name, stays, ...read } of cases)
  test(`a failure ${name}`, () => {
    const expected = stays ? kept : undefined
    assert.equal(nextStickyError(kept, { ...read, error: null }), expected)
  })

test('a read that never had data is seen as failed until it has', async () => {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } })
  let isAway = true
  const observer = new QueryObserver(queries, {
    queryKey: ['usage'],
    queryFn: () => (isAway ? Promise.reject(error) : Promise.resolve('here')),
  })
  const seen: string[] = []
  let last: StickyError | undefined
  const end = observer.subscribe((read) => {
    last = nextStickyError(last, read)
    const now = last?.error.message ?? read.data ?? 'loading'
    if (now !== seen.at(-1)) seen.push(now)
  })
  await observer.refetch()
  await observer.refetch()
  isAway = false
  await observer.refetch()
  end()
  assert.deepEqual(seen, ['loading', 'away', 'here'])
})
