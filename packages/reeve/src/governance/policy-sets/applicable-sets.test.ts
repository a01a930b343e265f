import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { v2 } from '@reeve/contract'
import fc from 'fast-check'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type {
  PolicySetRelation,
  PolicySetRow,
  RunPolicyRow,
  TagBindingRow,
} from '../../model/index.ts'
import { put, remove, type Change } from '../../state/index.ts'
import { aStore } from '../../../test/build/store.ts'
import { aWorkspaceRow } from '../../../test/build/governance.ts'
import { hasPolicySets, setsForNamespace, setsForWorkspace } from './applicable-sets.ts'

const ORG = 'org-1'
const [PROJECT, OTHER_PROJECT] = ['prj-1', 'prj-2']
const WORKSPACE = 'ws-1'
const NAMESPACE = 'web'

function aSet(id: string, fields: Partial<PolicySetRow> = {}): PolicySetRow {
  const tagSelectors = fields.tagSelectors ?? []
  return {
    id,
    organizationId: ORG,
    name: id,
    description: null,
    global: false,
    kind: 'native',
    overridable: null,
    agentEnabled: false,
    policyToolVersion: null,
    policiesPath: null,
    policyUpdatePatterns: [],
    tagSelectors,
    scopingType: tagSelectors.length > 0 ? 'tag' : 'explicit',
    currentVersionId: null,
    newestVersionId: null,
    createdMs: 0,
    updatedMs: 0,
    ...fields,
  }
}

function aPolicy(id: string, fields: Partial<RunPolicyRow> = {}): RunPolicyRow {
  return {
    id,
    organizationId: ORG,
    name: id,
    description: null,
    kind: 'native',
    query: null,
    enforcementLevel: 'advisory',
    createdMs: 0,
    updatedMs: null,
    code: { id: `code-${id}`, bytes: 1, sha256: `hash-${id}`, diagnostics: [] },
    ...fields,
  }
}

function member(policySetId: string, relation: PolicySetRelation, memberId: string): Change {
  return put('policy_set_members', { policySetId, organizationId: ORG, relation, memberId })
}

function tag(ownerId: string, key: string, value: string): Change {
  const ownerType = ownerId === WORKSPACE ? ('workspace' as const) : ('project' as const)
  const row: TagBindingRow = {
    id: `tb-${ownerId}-${key}`,
    organizationId: ORG,
    ownerType,
    ownerId,
    key,
    value,
    createdMs: 0,
  }
  return put('tag_bindings', row)
}

function selector(key: string, value: string | null, isExclude = false): v2.TagSelector {
  return { 'tag-key': key, 'tag-value': value, 'is-exclude': isExclude }
}

/** One project with a workspace and a namespace, and the rows that a test adds. */
async function aWorld(...changes: readonly Change[]) {
  const { store } = await aStore()
  const write = (more: readonly Change[]): void =>
    void store.commit({ by: 'system', cause: undefined, changes: () => more })
  write([
    put('workspaces', aWorkspaceRow({ id: WORKSPACE, organizationId: ORG, projectId: PROJECT })),
    put('project_namespaces', { namespace: NAMESPACE, projectId: PROJECT, organizationId: ORG }),
    ...changes,
  ])
  const source = { store, sealer: { open: (sealed: string) => sealed.replace('sealed:', '') } }
  return { store, source, write }
}

const named = (sets: readonly { readonly id: string }[]): readonly string[] =>
  sets.map(({ id }) => id)

/** Sets that apply to the workspace, and to the namespace. */
const CASES: readonly {
  readonly name: string
  readonly changes: readonly Change[]
  readonly workspace: boolean
  readonly namespace: boolean
}[] = [
  {
    name: 'a global set applies',
    changes: [put('policy_sets', aSet('s', { global: true }))],
    workspace: true,
    namespace: true,
  },
  {
    name: 'a global set of another organization does not',
    changes: [put('policy_sets', aSet('s', { global: true, organizationId: 'org-2' }))],
    workspace: false,
    namespace: false,
  },
  {
    name: 'a set that names nothing does not',
    changes: [put('policy_sets', aSet('s'))],
    workspace: false,
    namespace: false,
  },
  {
    name: 'a set of the project applies',
    changes: [put('policy_sets', aSet('s')), member('s', 'projects', PROJECT)],
    workspace: true,
    namespace: true,
  },
  {
    name: 'a set of another project does not',
    changes: [put('policy_sets', aSet('s')), member('s', 'projects', OTHER_PROJECT)],
    workspace: false,
    namespace: false,
  },
  {
    name: 'a set of the workspace applies to it alone',
    changes: [put('policy_sets', aSet('s')), member('s', 'workspaces', WORKSPACE)],
    workspace: true,
    namespace: false,
  },
  {
    name: 'a set of the namespace applies to it alone',
    changes: [put('policy_sets', aSet('s')), member('s', 'namespaces', NAMESPACE)],
    workspace: false,
    namespace: true,
  },
  {
    name: 'an excluded workspace is out of a global set',
    changes: [
      put('policy_sets', aSet('s', { global: true })),
      member('s', 'workspace-exclusions', WORKSPACE),
    ],
    workspace: false,
    namespace: true,
  },
  {
    name: 'an excluded workspace is out of a set that names it',
    changes: [
      put('policy_sets', aSet('s')),
      member('s', 'workspaces', WORKSPACE),
      member('s', 'workspace-exclusions', WORKSPACE),
    ],
    workspace: false,
    namespace: false,
  },
  {
    name: 'an excluded project is out, whatever names what is in it',
    changes: [
      put('policy_sets', aSet('s')),
      member('s', 'workspaces', WORKSPACE),
      member('s', 'namespaces', NAMESPACE),
      member('s', 'project-exclusions', PROJECT),
    ],
    workspace: false,
    namespace: false,
  },
  {
    name: 'a tag of the project is inherited',
    changes: [
      put('policy_sets', aSet('s', { tagSelectors: [selector('env', 'prod')] })),
      tag(PROJECT, 'env', 'prod'),
    ],
    workspace: true,
    namespace: true,
  },
  {
    name: 'a tag of the workspace hides that of the project',
    changes: [
      put('policy_sets', aSet('s', { tagSelectors: [selector('env', 'prod')] })),
      tag(PROJECT, 'env', 'prod'),
      tag(WORKSPACE, 'env', 'dev'),
    ],
    workspace: false,
    namespace: true,
  },
  {
    name: 'a selector without a value takes the key with any',
    changes: [
      put('policy_sets', aSet('s', { tagSelectors: [selector('env', null)] })),
      tag(WORKSPACE, 'env', 'dev'),
    ],
    workspace: true,
    namespace: false,
  },
  {
    name: 'an excluding selector wins',
    changes: [
      put(
        'policy_sets',
        aSet('s', { tagSelectors: [selector('env', null), selector('skip', 'yes', true)] }),
      ),
      tag(PROJECT, 'env', 'prod'),
      tag(PROJECT, 'skip', 'yes'),
    ],
    workspace: false,
    namespace: false,
  },
  {
    name: 'an excluding selector limits a global set',
    changes: [
      put('policy_sets', aSet('s', { global: true, tagSelectors: [selector('env', 'dev', true)] })),
      tag(WORKSPACE, 'env', 'dev'),
    ],
    workspace: false,
    namespace: true,
  },
]
for (const { name, changes, workspace, namespace } of CASES)
  test(`applying sets: ${name}`, async () => {
    const { source } = await aWorld(...changes)
    assert.deepEqual(named(setsForWorkspace(source, WORKSPACE)), workspace ? ['s'] : [])
    assert.deepEqual(named(setsForNamespace(source, NAMESPACE)), namespace ? ['s'] : [])
  })

test('applicable sets: a namespace without project has only sets attached to it', async () => {
  const { source, write } = await aWorld(
    put('policy_sets', aSet('global', { global: true })),
    put('policy_sets', aSet('named')),
    member('named', 'namespaces', NAMESPACE),
    remove('project_namespaces', NAMESPACE),
  )
  assert.deepEqual(named(setsForNamespace(source, NAMESPACE)), ['named'])
  assert.deepEqual(setsForNamespace(source, 'another'), [])
  assert.deepEqual(setsForWorkspace(source, 'ws-gone'), [])
  const row = { namespace: NAMESPACE, projectId: 'prj-9', organizationId: 'org-2' }
  write([put('project_namespaces', row), member('named', 'project-exclusions', 'prj-9')])
  assert.deepEqual(setsForNamespace(source, NAMESPACE), [], "it is another organization's now")
})

test('applicable sets: unique, sorted by name, without policies that lack code', async () => {
  const { source } = await aWorld(
    put('policy_sets', aSet('1', { name: 'b', global: true, overridable: true })),
    put('policy_sets', aSet('2', { name: 'a', global: true, description: 'd' })),
    member('2', 'projects', PROJECT),
    put('run_policies', aPolicy('x', { name: 'zeta', enforcementLevel: 'hard-mandatory' })),
    put('run_policies', aPolicy('y', { name: 'alpha' })),
    put('run_policies', aPolicy('w', { code: null })),
    ...['x', 'y', 'w'].map((id) => member('2', 'policies', id)),
    member('1', 'policies', 'x'),
  )
  const sets = setsForWorkspace(source, WORKSPACE)
  assert.deepEqual(
    sets.map(({ name, overridable }) => [name, overridable]),
    [
      ['a', false],
      ['b', true],
    ],
  )
  assert.deepEqual(sets[0], {
    id: '2',
    organizationId: ORG,
    name: 'a',
    description: 'd',
    kind: 'native',
    overridable: false,
    params: {},
    secrets: [],
    policies: [
      {
        id: 'y',
        name: 'alpha',
        kind: 'native',
        query: null,
        level: 'advisory',
        description: null,
        codeHash: 'hash-y',
        params: {},
      },
      {
        id: 'x',
        name: 'zeta',
        kind: 'native',
        query: null,
        level: 'hard-mandatory',
        description: null,
        codeHash: 'hash-x',
        params: {},
      },
    ],
  })
})

const VALUES: readonly (readonly [string, unknown])[] = [
  ['text', 'text'],
  ['12', 12],
  ['"12"', '12'],
  ['true', true],
  ['null', null],
  ['["a", {"b": 1}]', ['a', { b: 1 }]],
  ['{"a":', '{"a":'],
  ['', ''],
  ['['.repeat(5_000) + ']'.repeat(5_000), '['.repeat(5_000) + ']'.repeat(5_000)],
]
for (const [text, value] of VALUES)
  test(`applying sets: the parameter ${text.slice(0, 20)} is given as ${JSON.stringify(value).slice(0, 20)}`, async () => {
    const parameter = (id: string, fields: object) =>
      put('policy_set_parameters', {
        id,
        organizationId: ORG,
        policySetId: 's',
        key: id,
        value: text,
        sensitive: false,
        createdMs: 0,
        ...fields,
      })
    const { source } = await aWorld(
      put('policy_sets', aSet('s', { global: true })),
      parameter('plain', {}),
      parameter('secret', { sensitive: true, value: `sealed:${text}` }),
    )
    const [set] = setsForWorkspace(source, WORKSPACE)
    assert.deepEqual(set?.params, { plain: value, secret: value })
    assert.deepEqual(set?.secrets, [value])
  })

test('hasPolicySets: only if there is a set', async () => {
  const { store, write } = await aWorld(put('run_policies', aPolicy('p')))
  assert.equal(hasPolicySets(store.tables), false)
  write([put('policy_sets', aSet('s'))])
  assert.equal(hasPolicySets(store.tables), true)
  write([remove('policy_sets', 's')])
  assert.equal(hasPolicySets(store.tables), false)
})

interface RandomSet {
  readonly global: boolean
  readonly relations: readonly PolicySetRelation[]
  readonly selectors: readonly v2.TagSelector[]
}

const MEMBER_OF: Readonly<Partial<Record<PolicySetRelation, string>>> = {
  projects: PROJECT,
  workspaces: WORKSPACE,
  'project-exclusions': PROJECT,
  'workspace-exclusions': WORKSPACE,
}

const randomSet: fc.Arbitrary<RandomSet> = fc.record({
  global: fc.boolean(),
  relations: fc.subarray<PolicySetRelation>([
    'projects',
    'workspaces',
    'project-exclusions',
    'workspace-exclusions',
  ]),
  selectors: fc.array(
    fc
      .tuple(fc.constantFrom('a', 'b'), fc.constantFrom(null, '1', '2'), fc.boolean())
      .map(([key, value, isExclude]) => selector(key, value, isExclude)),
    { maxLength: 3 },
  ),
})

/** Reference implementation of the rule for one set. */
function applies({ global, relations, selectors }: RandomSet, tags: ReadonlyMap<string, string>) {
  const has = (relation: PolicySetRelation): boolean => relations.includes(relation)
  const hit = (isExclude: boolean): boolean =>
    selectors.some(
      (one) =>
        one['is-exclude'] === isExclude &&
        tags.has(one['tag-key']) &&
        (one['tag-value'] === null || tags.get(one['tag-key']) === one['tag-value']),
    )
  const included = global || has('projects') || has('workspaces') || hit(false)
  return included && !has('workspace-exclusions') && !has('project-exclusions') && !hit(true)
}

test('applicable sets: the result equals the reference implementation for any sets', async () => {
  const tags = fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('1', '2'))
  const world = fc.record({
    sets: fc.array(randomSet, { maxLength: 6 }),
    own: tags,
    inherited: tags,
  })
  await fc.assert(
    fc.asyncProperty(world, async ({ sets, own, inherited }) => {
      const { source } = await aWorld(
        ...sets.flatMap(({ global, relations, selectors }, i) => [
          put('policy_sets', aSet(`s${i}`, { global, tagSelectors: selectors })),
          ...relations.map((relation) => member(`s${i}`, relation, MEMBER_OF[relation] ?? '')),
        ]),
        ...Object.entries(own).map(([key, value]) => tag(WORKSPACE, key, value)),
        ...Object.entries(inherited).map(([key, value]) => tag(PROJECT, key, value)),
      )
      const effective = new Map([...Object.entries(inherited), ...Object.entries(own)])
      const wanted = sets.flatMap((set, i) => (applies(set, effective) ? [`s${i}`] : []))
      assert.deepEqual(named(setsForWorkspace(source, WORKSPACE)), wanted.toSorted(compareText))
    }),
    { numRuns: 200 },
  )
})
