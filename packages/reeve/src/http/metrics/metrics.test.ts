import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestDurationHistogram } from './metrics.ts'

const NAME = 'service_http_request_seconds'

function linesOf(times: RequestDurationHistogram, start: string): string[] {
  return times
    .text()
    .split('\n')
    .filter((line) => line.startsWith(start))
}

test('request durations: buckets are cumulative', () => {
  const times = new RequestDurationHistogram(NAME, 0)
  const note = times.observerFor('/v1/jobs')
  for (const seconds of [0.0005, 0.0006, 0.2, 7])
    note({ method: 'GET', status: 200, seconds, nowMs: 1 })
  const labels = 'route="/v1/jobs",method="GET",status="200"'
  const counts = [1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4]
  const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, '+Inf']
  assert.deepEqual(
    linesOf(times, `${NAME}_bucket`),
    bounds.map((bound, at) => `${NAME}_bucket{le="${bound}",${labels}} ${counts[at]}`),
  )
  assert.deepEqual(linesOf(times, `${NAME}_count`), [`${NAME}_count{${labels}} 4`])
  assert.match(linesOf(times, `${NAME}_sum`)[0] ?? '', /} 7\.2011$/)
})

test('request durations: routes, methods and statuses have separate series', () => {
  const times = new RequestDurationHistogram(NAME, 0)
  const jobs = times.observerFor('/v1/jobs')
  const nodes = times.observerFor('/v1/nodes')
  jobs({ method: 'GET', status: 200, seconds: 1, nowMs: 1 })
  jobs({ method: 'GET', status: 404, seconds: 1, nowMs: 1 })
  jobs({ method: 'POST', status: 200, seconds: 1, nowMs: 1 })
  nodes({ method: 'GET', status: 200, seconds: 1, nowMs: 1 })
  jobs({ method: 'GET', status: 200, seconds: 1, nowMs: 1 })
  assert.deepEqual(
    linesOf(times, `${NAME}_count`).map((line) => line.slice(NAME.length + 6)),
    [
      '{route="/v1/jobs",method="GET",status="200"} 2',
      '{route="/v1/jobs",method="GET",status="404"} 1',
      '{route="/v1/jobs",method="POST",status="200"} 1',
      '{route="/v1/nodes",method="GET",status="200"} 1',
    ],
  )
})

test('request durations: samples are of the last complete interval, or of the first one', () => {
  const times = new RequestDurationHistogram(NAME, 0)
  const note = times.observerFor('/v1/jobs')
  const add = (seconds: number, nowMs: number) =>
    note({ method: 'GET', status: 200, seconds, nowMs })
  const read = (nowMs: number) =>
    times.read(nowMs).samples.map(({ Count, Sum, Min, Max, Mean }) => [Count, Sum, Min, Max, Mean])
  add(1, 1)
  add(3, 2)
  assert.deepEqual(read(3), [[2, 4, 1, 3, 2]])
  add(8, 10_000)
  assert.deepEqual(read(10_001), [[2, 4, 1, 3, 2]])
  assert.deepEqual(read(20_001), [[1, 8, 8, 8, 8]])
})
