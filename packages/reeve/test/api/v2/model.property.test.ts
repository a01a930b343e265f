import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { aBody, aGovernanceServer, aTagged, someTags, type GovernanceServer } from './harness.ts'
import { SimpleModel, type Level, type Who } from './simple-model.ts'
import { newWorkspace } from './workspace-calls.ts'

const ACME = { organization_name: 'acme' }
const WHO: readonly Who[] = ['owner', 'maker', 'guest']
/** Few, so that they meet; two differ in case only. */
const NAMES = ['Alpha', 'alpha', 'Beta', 'Gamma 1', 'Delta'] as const

const who = fc.constantFrom(...WHO)
const name = fc.constantFrom(...NAMES)
/** A place in the list of what there is; one beyond its end is something that never was. */
const place = fc.nat(4)
const tags = fc
  .uniqueArray(fc.constantFrom(...Array.from({ length: 12 }, (_, i) => `key-${i}`)), {
    maxLength: 11,
    minLength: 1,
  })
  .chain((keys) =>
    fc.tuple(...keys.map((key) => fc.tuple(fc.constant(key), fc.constantFrom('a', 'b')))),
  )
  .map((pairs) => new Map(pairs))
const level = fc.constantFrom<Level | undefined>('read', 'write', 'maintain', 'admin', undefined)

const anyOperation = fc.oneof(
  fc.record({ kind: fc.constant('create' as const), who, name }),
  fc.record({ kind: fc.constant('rename' as const), who, place, name }),
  fc.record({ kind: fc.constant('delete' as const), who, place }),
  fc.record({ kind: fc.constant('add-tags' as const), who, place, tags }),
  fc.record({ kind: fc.constant('replace-tags' as const), who, place, tags }),
  fc.record({
    kind: fc.constant('move' as const),
    who,
    place,
    workspaces: fc.uniqueArray(place, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ kind: fc.constant('grant' as const), place, level }),
)
type Operation = typeof anyOperation extends fc.Arbitrary<infer T> ? T : never

interface World {
  readonly it: GovernanceServer
  readonly model: SimpleModel
  readonly tokens: Readonly<Record<Who, string>>
  readonly guestTeam: string
  readonly workspaces: readonly string[]
  /** Accesses of the guest's team, by project. */
  readonly accesses: Map<string, string>
}

async function aWorld(): Promise<World> {
  const it = await aGovernanceServer()
  const organization = await it.organization('acme')
  const maker = await it.team('acme', 'makers', { 'manage-projects': true })
  const guest = await it.team('acme', 'guests')
  const defaultId = organization.relationships['default-project'].data.id
  const model = new SimpleModel(defaultId)
  const workspaces: string[] = []
  for (const one of ['ws-a', 'ws-b', 'ws-c', 'ws-d']) {
    const { id } = await newWorkspace(it, one)
    workspaces.push(id)
    model.projects.get(defaultId)?.workspaces.add(id)
  }
  return {
    it,
    model,
    tokens: { owner: it.root, maker: maker.token, guest: guest.token },
    guestTeam: guest.id,
    workspaces,
    accesses: new Map(),
  }
}

async function carryOut(world: World, operation: Operation): Promise<void> {
  const { it, model, tokens } = world
  if (operation.kind === 'grant') return await grant(world, operation)
  const as = tokens[operation.who]
  if (operation.kind === 'create') {
    const body = aBody('projects', { name: operation.name })
    const reply = await it.call('createProject', { params: ACME, body, as })
    assert.equal(reply.status, model.createProject(operation.who, operation.name), reply.text)
    // Held against the contract, where a success has an id.
    const made = reply.json as { readonly data: { readonly id: string } }
    if (reply.status === 201) model.add(made.data.id, operation.name)
    return
  }
  const id = projectAt(model, operation.place)
  const [got, wanted] = await change(world, operation, id)
  assert.equal(got, wanted, `${JSON.stringify(operation)} on ${id}`)
}

type Change = Exclude<Operation, { kind: 'create' | 'grant' }>

/** The status of the server, and that of the model. */
async function change(
  { it, model, tokens, workspaces }: World,
  operation: Change,
  id: string,
): Promise<readonly [number, number]> {
  const { who: caller } = operation
  const call = { params: { project_id: id }, as: tokens[caller] }
  switch (operation.kind) {
    case 'rename': {
      const body = aBody('projects', { name: operation.name })
      const { status } = await it.call('updateProject', { ...call, body })
      return [status, model.rename(caller, id, operation.name)]
    }
    case 'delete': {
      const { status } = await it.call('deleteProject', call)
      return [status, model.delete(caller, id)]
    }
    case 'add-tags': {
      const body = { data: someTags(Object.fromEntries(operation.tags)) }
      const { status } = await it.call('updateProjectTagBindings', { ...call, body })
      return [status, model.addTags(caller, id, operation.tags)]
    }
    case 'replace-tags': {
      const body = aBody('projects', undefined, aTagged(Object.fromEntries(operation.tags)))
      const { status } = await it.call('updateProject', { ...call, body })
      return [status, model.replaceTags(caller, id, operation.tags)]
    }
    case 'move': {
      const ids = operation.workspaces.map((at) => workspaces[at] ?? 'ws-nonexistent')
      const body = { data: ids.map((one) => ({ type: 'workspaces', id: one })) }
      const { status } = await it.call('moveWorkspaces', { ...call, body })
      return [status, model.move(caller, id, ids)]
    }
  }
}

async function grant(
  { it, model, guestTeam, accesses }: World,
  { place: at, level: wanted }: Extract<Operation, { kind: 'grant' }>,
): Promise<void> {
  const projectId = projectAt(model, at)
  if (!model.projects.has(projectId)) return
  const known = accesses.get(projectId)
  if (known !== undefined) {
    await it.done('deleteTeamProjectAccess', { params: { team_project_id: known } })
    accesses.delete(projectId)
  }
  model.grant(projectId, wanted)
  if (wanted === undefined) return
  const { data } = await it.created('createTeamProjectAccess', {
    body: aBody(
      'team-projects',
      { access: wanted },
      {
        project: { data: { type: 'projects', id: projectId } },
        team: { data: { type: 'teams', id: guestTeam } },
      },
    ),
  })
  accesses.set(projectId, data.id)
}

function projectAt(model: SimpleModel, at: number): string {
  return [...model.projects.keys()][at] ?? 'prj-1111111111111111'
}

/** What everybody sees must be what the model says. */
async function compare({ it, model, tokens }: World): Promise<void> {
  for (const one of WHO) {
    const query = { sort: 'name', 'page[size]': 100 }
    const { data, meta } = await it.ok('listProjects', { params: ACME, query, as: tokens[one] })
    const names = data.map(({ attributes }) => attributes.name)
    assert.deepEqual(names.toSorted(), model.listed(one), one)
    assert.equal(meta.pagination['total-count'], names.length)
    for (const { id, attributes } of data) {
      const project = model.projects.get(id)
      assert.equal(attributes['workspace-count'], project?.workspaces.size)
      const { permissions } = attributes
      assert.equal(permissions['can-update'], model.holds(one, id, 'admin'))
      assert.equal(permissions['can-destroy'], model.holds(one, id, 'admin'))
      assert.equal(permissions['can-create-workspace'], model.holds(one, id, 'maintain'))
      const params = { project_id: id }
      const bound = await it.ok('listProjectTagBindings', { params, as: tokens[one] })
      const pairs = bound.data.map((tag): [string, string] => [
        tag.attributes.key,
        tag.attributes.value ?? '',
      ])
      assert.deepEqual(new Map(pairs), project?.tags)
    }
  }
}

test('model: any sequence of operations leaves the server as the model says', async () => {
  const property = fc.asyncProperty(
    fc.array(anyOperation, { minLength: 5, maxLength: 30 }),
    async (operations) => {
      const world = await aWorld()
      for (const one of operations) await carryOut(world, one)
      await compare(world)
      await world.it.server.close()
    },
  )
  await fc.assert(property, { numRuns: 12 })
})
