/**
 * Lists of projects: 20 of 1,000 and 20 of 100,000, with search, order and permission filter, for a
 * user with access to all of them and a user with access to fifty; and created projects per second.
 * `node packages/reeve/bench/governance.bench.ts [--quick]`
 *
 * Over in-memory HTTP: the cost of a page must not depend on the number of other projects.
 */
import { put } from '../src/state/index.ts'
import { aBody, aGovernanceServer, type GovernanceServer } from '../test/api/v2/harness.ts'
import { giveProject } from '../test/api/v2/rows.ts'
import { fixed, isQuick, printTable, rateOf, whole, type Rate } from './measure.ts'

const SMALL = 1_000
const LARGE = isQuick ? 10_000 : 100_000
const MEASURE_MS = isQuick ? 200 : 2_000
const WARM_UP_MS = isQuick ? 100 : 1_000
const GIVEN = 50
const ON_PAGE = 20
const ROWS_PER_COMMIT = 1_000
const PROJECTS = '/api/v2/organizations/acme/projects'

interface World {
  readonly it: GovernanceServer
  readonly maker: string
  readonly guest: string
}

const small = await aWorld(SMALL)
const large = await aWorld(LARGE)

interface Question {
  readonly name: string
  readonly who: 'maker' | 'guest'
  readonly query: Readonly<Record<string, string | number>>
}

const update = { 'filter[permissions][update]': 'true' }
/** The name exists in every size; in the large one only a few more match. */
const QUESTIONS: readonly Question[] = [
  { name: 'sort=name', who: 'maker', query: { sort: 'name' } },
  { name: 'sort=-name, update', who: 'maker', query: { sort: '-name', ...update } },
  { name: 'q, sort=name, update', who: 'maker', query: { q: 'needle', sort: 'name', ...update } },
  {
    name: 'page 50, sort=name',
    who: 'maker',
    query: { sort: 'name', 'page[number]': SMALL / ON_PAGE },
  },
  { name: 'sort=name', who: 'guest', query: { sort: 'name' } },
  { name: 'q, sort=name, update', who: 'guest', query: { q: 'needle', sort: 'name', ...update } },
]

const rows: string[][] = []
for (const question of QUESTIONS) {
  const few = await measure(small, question)
  const many = await measure(large, question)
  rows.push([
    question.name,
    question.who,
    fixed(few.p50),
    fixed(many.p50),
    fixed(many.p99),
    fixed(many.p50 / few.p50),
  ])
}
printTable(['20 projects', 'caller', `${SMALL}: ms`, `${LARGE}: ms`, 'p99 ms', 'ratio'], rows)

const created = [await createRate(small), await createRate(large)]
printTable(
  ['created', 'each second', 'p50 ms', 'p99 ms'],
  created.map(({ perSecond, p50, p99 }, i) => [
    `beside ${i === 0 ? SMALL : LARGE}`,
    whole(perSecond),
    fixed(p50),
    fixed(p99),
  ]),
)
process.exit(0)

async function aWorld(count: number): Promise<World> {
  const it = await aGovernanceServer()
  await it.organization('acme')
  const maker = await it.team('acme', 'makers', { 'manage-projects': true })
  const guest = await it.team('acme', 'guests')
  const { store } = it.server.context
  const [organizationId = ''] = store.tables.organizations.keys()
  for (let at = 0; at < count; at += ROWS_PER_COMMIT)
    await store.commit({
      by: 'system',
      cause: undefined,
      changes: () =>
        Array.from({ length: Math.min(ROWS_PER_COMMIT, count - at) }, (_, i) =>
          put('projects', aProject(at + i, organizationId)),
        ),
    }).durable
  for (let i = 0; i < GIVEN; i++)
    await giveProject(it, { teamId: guest.id, projectId: projectId(i * 7) }, 'admin')
  return { it, maker: maker.token, guest: guest.token }
}

function aProject(i: number, organizationId: string) {
  // Equal numbers of matches in every size.
  const isNeedle = i % 7 === 0 && i < SMALL
  return {
    id: projectId(i),
    organizationId,
    name: `${isNeedle ? 'needle' : 'project'} ${(i * 7_919) % 1_000_003}`,
    description: null,
    autoDestroyActivityDuration: null,
    isDefault: false,
    createdMs: i,
  }
}

/** Ids do not contain zeros. */
function projectId(i: number): string {
  return `prj-${String(i).padStart(16, '0').replaceAll('0', 'a')}`
}

async function measure(world: World, { who, query }: Question): Promise<Rate> {
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  )
  const ask = () =>
    send(world.it, { method: 'GET', url: `${PROJECTS}?${search.toString()}`, as: world[who] })
  // Proof: a page of the contract.
  const { data } = JSON.parse(await ask()) as { readonly data: readonly unknown[] }
  if (data.length !== ON_PAGE) throw new Error(`${data.length} projects are on the page`)
  await rateOf(WARM_UP_MS, ask)
  return await rateOf(MEASURE_MS, ask)
}

async function createRate({ it, maker }: World): Promise<Rate> {
  let n = 0
  const create = () => {
    const body = aBody('projects', { name: `new ${++n}` })
    return send(it, { method: 'POST', url: PROJECTS, as: maker, body })
  }
  await rateOf(WARM_UP_MS, create)
  return await rateOf(MEASURE_MS, create)
}

interface Sent {
  readonly method: string
  readonly url: string
  readonly as: string
  readonly body?: object
}

/** Skips response validation, which takes longer than the request. */
async function send(
  { server }: GovernanceServer,
  { method, url, as, body }: Sent,
): Promise<string> {
  const headers = { authorization: `Bearer ${as}`, 'content-type': 'application/vnd.api+json' }
  const { status, text } = await server.send(method, url, { headers, body })
  if (status >= 300) throw new Error(`${method} ${url} answered ${status} ${text}`)
  return text
}
