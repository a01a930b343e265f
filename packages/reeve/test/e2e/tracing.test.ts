import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { aTraceCollector, attributeOf, type CollectedSpan } from '../build/trace-collector.ts'
import { until } from '../build/until.ts'
import { startAgent, startProgram } from './program-process.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'

/** Several instances: a registration then leaves the placement to the scheduler's loop. */
const JOB = {
  ID: 'traced',
  TaskGroups: [
    {
      Name: 'app',
      Count: 2,
      Tasks: [
        { Name: 'main', Driver: 'raw_exec', Config: { command: '/bin/sleep', args: ['60'] } },
      ],
    },
  ],
}

async function register(address: string, headers: Record<string, string>): Promise<void> {
  const response = await fetch(`${address}/v1/jobs`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ Job: JOB }),
  })
  assert.equal(response.status, 200, await response.text())
}

async function aTracedProgram(t: TestContext) {
  const collector = await aTraceCollector(t)
  const directory = join(await temporaryDirectory(t), 'data')
  const program = await startProgram(t, directory, [], {
    REEVE_TRACING_ENDPOINT: collector.address,
    REEVE_TRACING_AUTHORIZATION: 'Bearer of-the-collector',
    REEVE_TRACING_SAMPLE_PERCENT: '0',
  })
  return { collector, program }
}

test('a traced request is followed to the start of its tasks', async (t) => {
  const { collector, program } = await aTracedProgram(t)
  await register(program.address, { traceparent: `00-${TRACE}-${CALLER}-01` })
  const ofTrace = (name: string): CollectedSpan[] =>
    collector.spans.filter((span) => span.traceId === TRACE && span.name === name)
  // Spans arrive in batches, in any order.
  await until(
    'the request and two tasks to be traced',
    () =>
      (ofTrace('start task').length === 2 &&
        ofTrace('start allocation').length === 2 &&
        ofTrace('registerJob').length === 1 &&
        ofTrace('POST /v1/jobs').length === 1) ||
      undefined,
    undefined,
    () => collector.spans.map(({ name }) => name),
  )
  const one = (name: string): CollectedSpan => {
    const [span, ...others] = ofTrace(name)
    assert.ok(span !== undefined && others.length === 0, name)
    return span
  }
  const request = one('POST /v1/jobs')
  assert.equal(request.parentSpanId, CALLER)
  assert.equal(request.kind, 2)
  assert.equal(attributeOf(request, 'http.response.status_code'), '200')
  assert.notEqual(attributeOf(request, 'reeve.request_id'), undefined)
  const useCase = one('registerJob')
  assert.equal(useCase.parentSpanId, request.spanId)
  const commits = ofTrace('commit')
  assert.ok(commits.some(({ parentSpanId }) => parentSpanId === useCase.spanId))
  for (const allocation of ofTrace('start allocation')) {
    assert.equal(attributeOf(allocation, 'reeve.job'), 'traced')
    const above = collector.spans.find(({ spanId }) => spanId === allocation.parentSpanId)
    assert.match(above?.name ?? '', /^(?:schedule|registerJob)$/)
  }
  const [task] = ofTrace('start task')
  assert.equal(attributeOf(task ?? request, 'reeve.task'), 'main')
  for (const span of collector.spans)
    assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano), span.name)
  assert.deepEqual([...new Set(collector.services)], ['reeve'])
  const [sent] = collector.requests
  assert.equal(sent?.path, '/v1/traces')
  assert.equal(sent?.headers['authorization'], 'Bearer of-the-collector')
  const others = collector.spans.filter(({ traceId }) => traceId !== TRACE)
  assert.deepEqual(others, [], 'nothing is sampled that no caller asks for')
})

test('what the collector rejects is counted', async (t) => {
  const { collector, program } = await aTracedProgram(t)
  collector.respond(400)
  await register(program.address, { traceparent: `00-${TRACE}-${CALLER}-01` })
  const dropped = async (): Promise<number> => {
    const response = await fetch(`${program.address}/v1/metrics?format=prometheus`)
    const text = await response.text()
    assert.match(text, /^# TYPE service_trace_spans_dropped_total counter$/m)
    return Number(/^service_trace_spans_dropped_total (\d+)$/m.exec(text)?.[1])
  }
  await until('spans to be dropped', async () => ((await dropped()) > 0 ? true : undefined))
})

test('a wrong address of a collector is reported at the start', async (t) => {
  const directory = join(await temporaryDirectory(t), 'data')
  const { child, output } = startAgent(t, ['--dev', '--data-dir', directory], {
    environment: { REEVE_TRACING_ENDPOINT: 'collector:4318' },
  })
  await until('the end of the agent', () => child.exitCode ?? undefined)
  assert.equal(child.exitCode, 1)
  assert.match(
    output(),
    /REEVE_TRACING_ENDPOINT.*must be a URL such as "http:\/\/127\.0\.0\.1:4318"/,
  )
})
