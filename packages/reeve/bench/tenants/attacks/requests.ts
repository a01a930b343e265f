/** Expensive requests from 64 connections that each wait for their response. */
import { hammer, openSockets, pause, requestBytes, untilOver } from '../attack-connection.ts'
import { ATTACK_JOB_PREFIX, register } from '../attacker-calls.ts'
import { direct, type Assault, type Attack } from '../attack.ts'
import { idleJob } from '../../jobs.ts'

const PARKED_QUERIES = 3_000
const WRITES_EVERY_MS = 100
const UNREAD_STREAMS = 64
const LARGE_JOBS = 200
const LARGE_META_CHARS = 50_000
/** Just below 4 MB of JSON. */
const SEARCHED_NUMBERS = 800_000
const ANONYMOUS_SEARCHES = 8
const REGISTERED_IDS = 200

function withToken({ target }: Assault): Record<string, string> {
  return { 'x-service-token': target.token, 'content-type': 'application/json' }
}

function posted(assault: Assault, path: string, body: unknown): Buffer {
  const headers = withToken(assault)
  return requestBytes({ method: 'POST', path, headers, body: JSON.stringify(body) })
}

function ownJob({ target: { namespace } }: Assault, id: string) {
  return { ...idleJob(`${ATTACK_JOB_PREFIX}${id}`), Namespace: namespace, Datacenters: ['*'] }
}

/** Nested lists: some 0.9 s of parsing. */
const NESTED_FOR = `job "parsed" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/true"
        args    = [for a in range(1000): [for b in range(1000): a]]
      }
    }
  }
}
`

/** A pattern with catastrophic backtracking in most engines. */
const EXPENSIVE_FILTER = encodeURIComponent('Name matches "(.*a){20}zz"')

export const requestAttacks: readonly Attack[] = [
  direct({ name: 'reads', summary: 'single reads at full speed' }, async (assault) => {
    const path = `/v1/job/seed-1?namespace=${assault.target.namespace}`
    const request = requestBytes({ path, headers: withToken(assault) })
    await hammer(assault, () => request)
  }),
  direct({ name: 'plan', summary: 'plans of 50,000 allocations' }, async (assault) => {
    const job = ownJob(assault, 'planned')
    const Job = { ...job, TaskGroups: job.TaskGroups.map((group) => ({ ...group, Count: 50_000 })) }
    const path = `/v1/job/${job.ID}/plan?namespace=${assault.target.namespace}`
    const request = posted(assault, path, { Job, Diff: true })
    await hammer(assault, () => request)
  }),
  direct({ name: 'parse', summary: 'job files with nested for' }, async (assault) => {
    const path = `/v1/jobs/parse?namespace=${assault.target.namespace}`
    const request = posted(assault, path, { JobHCL: NESTED_FOR, Canonicalize: true })
    await hammer(assault, () => request)
  }),
  direct({ name: 'validate', summary: 'validation of 900 groups' }, async (assault) => {
    const job = ownJob(assault, 'validated')
    const TaskGroups = Array.from({ length: 900 }, (_, at) => ({
      ...job.TaskGroups[0],
      Name: `group-${at}`,
    }))
    const path = `/v1/validate/job?namespace=${assault.target.namespace}`
    const request = posted(assault, path, { Job: { ...job, TaskGroups } })
    await hammer(assault, () => request)
  }),
  direct({ name: 'search', summary: 'fuzzy searches over everything' }, async (assault) => {
    const path = `/v1/search/fuzzy?namespace=${assault.target.namespace}`
    const request = posted(assault, path, { Text: 'ee', Context: 'all' })
    await hammer(assault, () => request)
  }),
  direct({ name: 'filter', summary: 'lists with an expensive filter' }, async (assault) => {
    const path = `/v1/jobs?namespace=${assault.target.namespace}&filter=${EXPENSIVE_FILTER}`
    const request = requestBytes({ path, headers: withToken(assault) })
    await hammer(assault, () => request)
  }),
  {
    name: 'parked',
    summary: '3,000 parked queries on a list, and ten writes a second',
    async prepare(assault) {
      await park(assault)
      return () => writeOften(assault)
    },
  },
  {
    name: 'streams',
    summary: '64 event streams with their history, never read',
    async prepare(assault) {
      const filler = 'x'.repeat(LARGE_META_CHARS)
      for (let at = 0; at < LARGE_JOBS; at++)
        await register(assault.target, { ...ownJob(assault, `large-${at}`), Meta: { filler } })
      return () => leaveStreamsUnread(assault)
    },
  },
  direct(
    { name: 'metrics', summary: 'metrics without a token', isAnonymous: true },
    async (assault) => {
      const request = requestBytes({ path: '/v1/metrics?format=prometheus' })
      await hammer(assault, () => request)
    },
  ),
  direct(
    {
      name: 'search-anonymous',
      summary: '4 MB of JSON to /v1/search without a token, 8 connections',
      isAnonymous: true,
    },
    async (assault) => {
      const Prefixes = Array.from({ length: SEARCHED_NUMBERS }, (_, at) => at % 10_000)
      const body = JSON.stringify({ Prefix: 'a', Context: 'all', Prefixes })
      const headers = { 'content-type': 'application/json' }
      const request = requestBytes({ method: 'POST', path: '/v1/search', headers, body })
      await hammer(assault, () => request, { connections: ANONYMOUS_SEARCHES })
    },
  ),
  direct({ name: 'registrations', summary: 'registrations at full speed' }, async (assault) => {
    let next = 0
    const path = `/v1/jobs?namespace=${assault.target.namespace}`
    await hammer(assault, () => {
      const job = ownJob(assault, `registered-${next % REGISTERED_IDS}`)
      return posted(assault, path, { Job: { ...job, Meta: { version: String(next++) } } })
    })
  }),
]

/** Parks queries again after each write, like a client that watches a list. */
async function park(assault: Assault): Promise<void> {
  const { namespace } = assault.target
  const sockets = await openSockets(assault, PARKED_QUERIES)
  const path = `/v1/jobs?namespace=${namespace}&wait=60s&index=`
  const ask = (index: string): Buffer =>
    requestBytes({ path: `${path}${index}`, headers: withToken(assault) })
  for (const socket of sockets) {
    socket.on('data', (chunk: Buffer) => {
      if (chunk.toString('latin1', 0, 8) !== 'HTTP/1.1') return
      const text = chunk.toString('latin1')
      assault.count(text.slice(9, 12))
      const index = /\nx-service-index: *(\d+)/i.exec(text)?.[1]
      if (index !== undefined) socket.write(ask(index))
    })
    socket.write(ask('1'))
  }
}

async function writeOften(assault: Assault): Promise<void> {
  for (let at = 0; !assault.signal.aborted; at++) {
    const Meta = { version: String(at) }
    await register(assault.target, { ...ownJob(assault, 'written'), Meta }).catch(() =>
      assault.count('write refused'),
    )
    await pause(assault, WRITES_EVERY_MS)
  }
}

async function leaveStreamsUnread(assault: Assault): Promise<void> {
  const topics = 'topic=Job&topic=Evaluation&topic=Allocation'
  const path = `/v1/event/stream?namespace=${assault.target.namespace}&index=1&${topics}`
  const request = requestBytes({ path, headers: withToken(assault) })
  for (const socket of await openSockets(assault, UNREAD_STREAMS)) {
    socket.once('data', (chunk: Buffer) => {
      assault.count(chunk.toString('latin1', 9, 12))
      socket.pause()
    })
    socket.write(request)
  }
  await untilOver(assault)
}
