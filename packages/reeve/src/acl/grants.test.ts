import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { NamespaceCapability } from '@reeve/contract'
import {
  compileGrants,
  MANAGEMENT_GRANTS,
  NO_GRANTS,
  type Grants,
  resolveGrants,
} from './grants.ts'
import { LOOKUP_CACHE_SIZE_MAX } from './limits.ts'
import { parseAclRules } from './parse-rules.ts'
import { NO_RULES, type AclRules } from './rules.ts'

function rulesOf(text: string): AclRules {
  const rules = parseAclRules(text)
  assert.ok(rules.ok, rules.ok ? '' : rules.error)
  return rules.value
}

function grantsOf(...texts: readonly string[]): Grants {
  return compileGrants(texts.map(rulesOf))
}

const NAMESPACES = [
  {
    name: 'an exact name grants',
    rules: ['namespace "web" { capabilities = ["read-job"] }'],
    web: true,
  },
  {
    name: 'another name grants nothing',
    rules: ['namespace "api" { capabilities = ["read-job"] }'],
    web: false,
  },
  {
    name: 'a name is compared in its case',
    rules: ['namespace "Web" { capabilities = ["read-job"] }'],
    web: false,
  },
  {
    name: 'a lone star matches everything',
    rules: ['namespace "*" { capabilities = ["read-job"] }'],
    web: true,
  },
  {
    name: 'a star matches no characters too',
    rules: ['namespace "web*" { capabilities = ["read-job"] }'],
    web: true,
  },
  {
    name: 'a star matches in the middle and at the start',
    rules: ['namespace "*e*" { capabilities = ["read-job"] }'],
    web: true,
  },
  {
    name: 'two policies on one label are united',
    rules: [
      'namespace "web" { policy = "scale" }',
      'namespace "web" { capabilities = ["submit-job"] }',
    ],
    web: true,
  },
  {
    name: 'a deny on the same label wins over every grant',
    rules: ['namespace "web" { policy = "write" }', 'namespace "web" { policy = "deny" }'],
    web: false,
  },
  {
    name: 'a deny wins in either order',
    rules: ['namespace "web" { policy = "deny" }', 'namespace "web" { policy = "write" }'],
    web: false,
  },
  {
    name: 'a deny on the same pattern wins',
    rules: ['namespace "w*" { policy = "write" }', 'namespace "w*" { capabilities = ["deny"] }'],
    web: false,
  },
  {
    name: 'the exact name decides alone against a wider deny',
    rules: ['namespace "web" { policy = "read" }\nnamespace "*" { policy = "deny" }'],
    web: true,
  },
  {
    name: 'the exact name decides alone against a wider grant',
    rules: ['namespace "web" { policy = "deny" }\nnamespace "*" { policy = "write" }'],
    web: false,
  },
  {
    name: 'an exact name without capabilities still decides',
    rules: ['namespace "web" {}\nnamespace "*" { policy = "write" }'],
    web: false,
  },
  {
    name: 'the closest pattern decides, not the widest',
    rules: ['namespace "*" { policy = "deny" }\nnamespace "w*" { policy = "read" }'],
    web: true,
  },
  {
    name: 'the closest pattern decides also when it denies',
    rules: ['namespace "we*" { policy = "deny" }\nnamespace "w*" { policy = "write" }'],
    web: false,
  },
  {
    name: 'stars do not make a pattern closer',
    rules: ['namespace "*w*" { policy = "deny" }\nnamespace "we*" { policy = "read" }'],
    web: true,
  },
  {
    name: 'of equally close patterns the first by its text decides',
    rules: ['namespace "w*" { policy = "read" }\nnamespace "*b" { policy = "deny" }'],
    web: false,
  },
  {
    name: 'the order of the documents does not break a tie',
    rules: ['namespace "*b" { policy = "deny" }', 'namespace "w*" { policy = "read" }'],
    web: false,
  },
]

for (const { name, rules, web } of NAMESPACES)
  test(`allows: ${name}`, () => {
    assert.equal(grantsOf(...rules).allows('web', 'read-job'), web)
    assert.equal(grantsOf(...rules).canSeeNamespace('web'), web)
  })

test('allows: only what is granted is allowed', () => {
  const grants = grantsOf('namespace "web" { policy = "read" }')
  assert.equal(grants.allows('web', 'read-job'), true)
  assert.equal(grants.allows('web', 'submit-job'), false)
  assert.equal(grants.allows('web', 'deny'), false)
})

test('allows: a fine-grained capability is its own', () => {
  const grants = grantsOf('namespace "web" { capabilities = ["register-job"] }')
  assert.equal(grants.allows('web', 'register-job'), true)
  assert.equal(grants.allows('web', 'submit-job'), false)
  assert.equal(
    grantsOf('namespace "web" { policy = "write" }').allows('web', 'register-job'),
    false,
  )
})

test('allowsInAnyNamespace: any rule counts, a denied one does not', () => {
  const grants = grantsOf(
    'namespace "a" { capabilities = ["read-job"] }',
    'namespace "b" { capabilities = ["submit-job", "deny"] }',
  )
  assert.equal(grants.allowsInAnyNamespace('read-job'), true)
  assert.equal(grants.allowsInAnyNamespace('submit-job'), false)
  assert.equal(grants.allowsInAnyNamespace('list-jobs'), false)
})

const LEVELS = [
  { name: 'nothing', policies: [], list: false, read: false, write: false },
  { name: 'read', policies: ['read'], list: true, read: true, write: false },
  { name: 'write includes read', policies: ['write'], list: true, read: true, write: true },
  {
    name: 'write wins over read',
    policies: ['read', 'write'],
    list: true,
    read: true,
    write: true,
  },
  {
    name: 'deny wins over write',
    policies: ['write', 'deny'],
    list: false,
    read: false,
    write: false,
  },
  {
    name: 'deny wins in any order',
    policies: ['deny', 'read'],
    list: false,
    read: false,
    write: false,
  },
]

for (const kind of ['node', 'agent', 'quota', 'operator', 'plugin'] as const)
  for (const { name, policies, list, read, write } of LEVELS)
    test(`${kind}: ${name}`, () => {
      const grants = grantsOf(...policies.map((policy) => `${kind} { policy = "${policy}" }`))
      assert.equal(grants[kind]('read'), read)
      assert.equal(grants[kind]('write'), write)
      if (kind === 'plugin') assert.equal(grants.plugin('list'), list)
    })

test('plugin: list is less than read', () => {
  const grants = grantsOf('plugin { policy = "list" }')
  assert.deepEqual([grants.plugin('list'), grants.plugin('read')], [true, false])
  assert.equal(
    grantsOf('plugin { policy = "list" }', 'plugin { policy = "read" }').plugin('read'),
    true,
  )
})

test('scale grants nothing outside of namespaces', () => {
  const grants = grantsOf('node { policy = "scale" }\nagent { policy = "scale" }')
  assert.deepEqual([grants.node('read'), grants.agent('read')], [false, false])
})

test('a permission of one kind grants none of another', () => {
  const grants = grantsOf('node { policy = "write" }')
  assert.deepEqual(
    [grants.agent('read'), grants.operator('read'), grants.quota('read'), grants.plugin('list')],
    [false, false, false, false],
  )
})

test('operator: capabilities come with the policy or alone, and a deny removes all', () => {
  const read = grantsOf('operator { policy = "read" capabilities = ["snapshot-save"] }')
  assert.equal(read.operator('keyring-read'), true)
  assert.equal(read.operator('snapshot-save'), true)
  assert.equal(read.operator('keyring-rotate'), false)
  const alone = grantsOf('operator { capabilities = ["snapshot-save"] }')
  assert.deepEqual([alone.operator('snapshot-save'), alone.operator('read')], [true, false])
  const denied = grantsOf('operator { policy = "write" }', 'operator { capabilities = ["deny"] }')
  assert.deepEqual([denied.operator('write'), denied.operator('keyring-read')], [false, false])
})

test('nodePool: the closest rule decides', () => {
  const grants = grantsOf(
    'node_pool "*" { policy = "read" }',
    'node_pool "gpu_*" { policy = "write" }\nnode_pool "gpu_x" { policy = "deny" }',
  )
  assert.deepEqual(
    (['read', 'write', 'delete'] as const).map((one) => grants.nodePool('gpu_a', one)),
    [true, true, true],
  )
  assert.deepEqual([grants.nodePool('cpu', 'read'), grants.nodePool('cpu', 'write')], [true, false])
  assert.equal(grants.nodePool('gpu_x', 'read'), false)
})

test('hostVolume: read mounts read-only, write mounts both ways', () => {
  const grants = grantsOf(
    'host_volume "a*" { policy = "read" }\nhost_volume "ab" { policy = "write" }',
  )
  assert.deepEqual(
    [grants.hostVolume('ax', 'mount-readonly'), grants.hostVolume('ax', 'mount-readwrite')],
    [true, false],
  )
  assert.equal(grants.hostVolume('ab', 'mount-readwrite'), true)
  assert.equal(grants.hostVolume('b', 'mount-readonly'), false)
})

const VARIABLES = [
  {
    name: 'an exact path',
    rules: ['namespace "web" { variables { path "a/b" { capabilities = ["read"] } } }'],
    allowed: true,
  },
  {
    name: 'a pattern of paths',
    rules: ['namespace "web" { variables { path "a/*" { capabilities = ["read"] } } }'],
    allowed: true,
  },
  {
    name: 'a pattern of namespaces',
    rules: ['namespace "w*" { variables { path "a/b" { capabilities = ["read"] } } }'],
    allowed: true,
  },
  {
    name: 'another namespace',
    rules: ['namespace "api" { variables { path "*" { capabilities = ["read"] } } }'],
    allowed: false,
  },
  {
    name: 'another path',
    rules: ['namespace "web" { variables { path "a" { capabilities = ["read"] } } }'],
    allowed: false,
  },
  {
    name: 'another capability',
    rules: ['namespace "web" { variables { path "a/b" { capabilities = ["write"] } } }'],
    allowed: false,
  },
  {
    name: 'an exact deny inside a wider grant',
    rules: [
      'namespace "web" { variables { path "*" { capabilities = ["read"] } } }',
      'namespace "web" { variables { path "a/b" { capabilities = ["deny"] } } }',
    ],
    allowed: false,
  },
  {
    name: 'an exact grant inside a wider deny',
    rules: [
      'namespace "*" { variables { path "*" { capabilities = ["deny"] } } }',
      'namespace "web" { variables { path "a/b" { capabilities = ["read"] } } }',
    ],
    allowed: true,
  },
  {
    name: 'the closest of the combined patterns',
    rules: [
      'namespace "we*" { variables { path "*" { capabilities = ["deny"] } } }',
      'namespace "w*" { variables { path "a/*" { capabilities = ["read"] } } }',
    ],
    allowed: true,
  },
  {
    name: 'a deny of the same path in another policy',
    rules: [
      'namespace "web" { variables { path "a/b" { capabilities = ["read"] } } }',
      'namespace "web" { variables { path "a/b" { capabilities = ["deny"] } } }',
    ],
    allowed: false,
  },
  {
    name: 'rights in the namespace but not on variables',
    rules: ['namespace "web" { policy = "write" }'],
    allowed: false,
  },
]

for (const { name, rules, allowed } of VARIABLES)
  test(`variable: ${name} ${allowed ? 'grants' : 'does not grant'}`, () => {
    assert.equal(grantsOf(...rules).variable('web', 'a/b', 'read'), allowed)
  })

test('variable: a path cannot reach into another namespace', () => {
  const grants = grantsOf('namespace "a" { variables { path "*" { capabilities = ["read"] } } }')
  assert.equal(grants.variable('a\u0000b', 'c', 'read'), false)
  assert.equal(grants.variable('a', 'b\u0000c', 'read'), false)
})

test('variable: a rule on variables alone does not show the namespace', () => {
  const grants = grantsOf('namespace "a" { variables { path "*" { capabilities = ["read"] } } }')
  assert.equal(grants.canSeeNamespace('a'), false)
})

test('MANAGEMENT_GRANTS allow everything, NO_GRANTS nothing', () => {
  for (const [grants, answer] of [
    [MANAGEMENT_GRANTS, true],
    [NO_GRANTS, false],
  ] as const) {
    assert.equal(grants.isManagement, answer)
    assert.deepEqual(
      [
        grants.allows('default', 'policy-override'),
        grants.allowsInAnyNamespace('read-job'),
        grants.canSeeNamespace('default'),
        grants.node('write'),
        grants.agent('write'),
        grants.operator('keyring-delete'),
        grants.quota('write'),
        grants.plugin('write'),
        grants.nodePool('all', 'delete'),
        grants.hostVolume('data', 'mount-readwrite'),
        grants.variable('default', 'a', 'destroy'),
      ],
      Array.from({ length: 11 }, () => answer),
    )
  }
})

const LOOKUPS = {
  policyRules: (name: string) =>
    ({
      reader: rulesOf('namespace "web" { policy = "read" }'),
      nodes: rulesOf('node { policy = "read" }'),
    })[name],
  rolePolicies: (id: string) => ({ operators: ['nodes', 'gone'] })[id],
}

test('resolveGrants: a management token has all permissions', () => {
  const token = { Type: 'management', Policies: null, Roles: null } as const
  assert.equal(resolveGrants(token, LOOKUPS), MANAGEMENT_GRANTS)
})

test('resolveGrants: a client token has those of its policies and of its roles', () => {
  const roles = [{ ID: 'operators' }, { ID: 'unknown' }]
  const token = { Type: 'client', Policies: ['reader', 'missing'], Roles: roles } as const
  const grants = resolveGrants(token, LOOKUPS)
  assert.equal(grants.isManagement, false)
  assert.equal(grants.allows('web', 'read-job'), true)
  assert.equal(grants.node('read'), true)
  assert.equal(grants.node('write'), false)
})

test('resolveGrants: without policies nothing is granted', () => {
  const grants = resolveGrants({ Type: 'client', Policies: null, Roles: null }, LOOKUPS)
  assert.equal(grants.allows('web', 'read-job'), false)
})

// Properties. A small alphabet makes labels meet often.
const CAPABILITIES = ['read-job', 'submit-job', 'list-jobs'] as const
const label = fc.string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 5 })
const plainName = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 5 })
const rule = fc.record({
  Name: label,
  Policy: fc.constant('' as const),
  Capabilities: fc.uniqueArray(fc.constantFrom(...CAPABILITIES, 'deny' as const)),
  Variables: fc.constant(null),
})
type Rule = { readonly Name: string; readonly Capabilities: readonly NamespaceCapability[] }
const documents = fc.array(
  fc.array(rule, { maxLength: 4 }).map((Namespaces): AclRules => ({ ...NO_RULES, Namespaces })),
  { maxLength: 4 },
)

/** The same rules once more, written simply and slowly. */
function slowly(all: readonly AclRules[], name: string): readonly string[] {
  const rules: readonly Rule[] = all.flatMap((one) => one.Namespaces ?? [])
  const united = (wanted: string): readonly string[] => {
    const held = rules.filter((one) => one.Name === wanted).flatMap((one) => one.Capabilities)
    return held.includes('deny') ? [] : held
  }
  if (rules.some((one) => one.Name === name)) return united(name)
  const matching = rules
    .map((one) => one.Name)
    .filter((one) => one.includes('*'))
    .filter((one) => new RegExp(`^${one.replaceAll('*', '.*')}$`).test(name))
  const difference = (glob: string) => name.length - glob.length + glob.split('*').length - 1
  const [closest] = matching.toSorted((a, b) => difference(a) - difference(b) || (a < b ? -1 : 1))
  return closest === undefined ? [] : united(closest)
}

test('allows: agrees with an uncached reference implementation', () => {
  fc.assert(
    fc.property(documents, fc.array(plainName), (all, names) => {
      const grants = compileGrants(all)
      for (const name of [...names, ...names])
        for (const capability of CAPABILITIES)
          assert.equal(grants.allows(name, capability), slowly(all, name).includes(capability))
    }),
  )
})

test('allows: the order of documents and of rules changes nothing', () => {
  fc.assert(
    fc.property(documents, plainName, (all, name) => {
      const turned = all
        .map((one) => ({ ...one, Namespaces: (one.Namespaces ?? []).toReversed() }))
        .toReversed()
      for (const capability of CAPABILITIES)
        assert.equal(
          compileGrants(turned).allows(name, capability),
          compileGrants(all).allows(name, capability),
        )
    }),
  )
})

test('allows: adding deny to a rule that exists never widens access', () => {
  fc.assert(
    fc.property(documents, plainName, fc.nat(), (all, name, pick) => {
      const labels = all.flatMap((one) => one.Namespaces ?? []).map((one) => one.Name)
      const denied = labels[pick % Math.max(1, labels.length)]
      if (denied === undefined) return
      const deny = {
        Name: denied,
        Policy: 'deny',
        Capabilities: ['deny'],
        Variables: null,
      } as const
      const narrowed = compileGrants([...all, { ...NO_RULES, Namespaces: [deny] }])
      for (const capability of CAPABILITIES)
        if (narrowed.allows(name, capability))
          assert.equal(compileGrants(all).allows(name, capability), true)
    }),
  )
})

test('allows: a rule that does not match the name changes nothing for it', () => {
  fc.assert(
    fc.property(documents, plainName, rule, (all, name, other) => {
      const unrelated = { ...other, Name: `x${other.Name}` }
      const extended = compileGrants([...all, { ...NO_RULES, Namespaces: [unrelated] }])
      for (const capability of CAPABILITIES)
        assert.equal(extended.allows(name, capability), compileGrants(all).allows(name, capability))
    }),
  )
})

test('allows: more names than are cached, and very long ones, give the same result', () => {
  const grants = grantsOf('namespace "web-*" { policy = "read" }')
  for (let i = 0; i < LOOKUP_CACHE_SIZE_MAX * 3; i++) {
    assert.equal(grants.allows(`web-${i}`, 'read-job'), true)
    assert.equal(grants.allows(`api-${i}`, 'read-job'), false)
  }
  assert.equal(grants.allows(`web-${'x'.repeat(60_000)}`, 'read-job'), true)
  assert.equal(grants.allows('constructor', 'read-job'), false)
})
