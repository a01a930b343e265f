import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ACL_RULES_COUNT_MAX, ACL_RULES_LENGTH_MAX } from './limits.ts'
import { parseAclRules } from './parse-rules.ts'
import { NO_RULES, rulesJson, type AclRules } from './rules.ts'

function rulesOf(text: string): AclRules {
  const rules = parseAclRules(text)
  assert.ok(rules.ok, rules.ok ? '' : rules.error)
  return rules.value
}

function errorOf(text: string): string {
  const rules = parseAclRules(text)
  assert.ok(!rules.ok, 'the text must be refused')
  return rules.error
}

/** The sample document, in both syntaxes. */
const SAMPLE_HCL = `
# Web team
namespace "web-*" {
  policy       = "write"
  capabilities = ["alloc-node-exec"]
  variables { path "project/*" { capabilities = ["read", "write"] } }
}
node_pool "gpu-*" { policy = "read"   capabilities = ["write"] }
host_volume "data-*" { policy = "write" }
node     { policy = "read" }
agent    { policy = "write" }
operator { policy = "read"  capabilities = ["snapshot-save"] }
quota    { policy = "read" }
plugin   { policy = "list" }
`
const SAMPLE_JSON = JSON.stringify({
  namespace: {
    'web-*': {
      policy: 'write',
      capabilities: ['alloc-node-exec'],
      variables: { path: { 'project/*': { capabilities: ['read', 'write'] } } },
    },
  },
  node_pool: [{ 'gpu-*': { policy: 'read', capabilities: ['write'] } }],
  host_volume: { 'data-*': [{ policy: 'write' }] },
  node: { policy: 'read' },
  agent: [{ policy: 'write' }],
  operator: { policy: 'read', capabilities: ['snapshot-save'] },
  quota: { policy: 'read' },
  plugin: { policy: 'list' },
})

test('parseAclRules: every kind of block is read, and shorthands are expanded', () => {
  const { Namespaces, ...rest } = rulesOf(SAMPLE_HCL)
  const [web] = Namespaces ?? []
  assert.equal(web?.Name, 'web-*')
  assert.equal(web.Policy, 'write')
  assert.ok(web.Capabilities.includes('alloc-node-exec'))
  assert.ok(web.Capabilities.includes('submit-job'))
  assert.deepEqual(web.Variables, {
    Paths: [{ PathSpec: 'project/*', Capabilities: ['read', 'write', 'list'] }],
  })
  assert.deepEqual(rest, {
    NodePools: [{ Name: 'gpu-*', Policy: 'read', Capabilities: ['write', 'read'] }],
    HostVolumes: [
      { Name: 'data-*', Policy: 'write', Capabilities: ['mount-readonly', 'mount-readwrite'] },
    ],
    Node: { Policy: 'read' },
    Agent: { Policy: 'write' },
    Operator: { Policy: 'read', Capabilities: ['snapshot-save', 'license-read', 'keyring-read'] },
    Quota: { Policy: 'read' },
    Plugin: { Policy: 'list' },
  })
})

test('parseAclRules: the JSON form means the same', () => {
  assert.deepEqual(rulesOf(SAMPLE_JSON), rulesOf(SAMPLE_HCL))
})

test('parseAclRules: JSON is recognised after blanks', () => {
  assert.deepEqual(rulesOf(` \n\t${SAMPLE_JSON}`), rulesOf(SAMPLE_HCL))
})

test('parseAclRules: an empty text is valid and has no rules', () => {
  assert.deepEqual(rulesOf(''), NO_RULES)
})

test('parseAclRules: the parsed form is the form that the API shows', () => {
  assert.deepEqual(rulesJson(rulesOf('agent { policy = "read" }')), {
    ...NO_RULES,
    Agent: { Policy: 'read' },
  })
})

test('parseAclRules: labelled blocks may repeat, also with the same label', () => {
  const { Namespaces } = rulesOf(
    'namespace "a" { policy = "read" }\nnamespace "b" { policy = "deny" }\nnamespace "a" {}',
  )
  assert.deepEqual(
    Namespaces?.map((rule) => rule.Name),
    ['a', 'b', 'a'],
  )
})

test('parseAclRules: a deny among the capabilities leaves only deny', () => {
  const { Namespaces } = rulesOf('namespace "a" { policy = "write" capabilities = ["deny"] }')
  assert.deepEqual(Namespaces?.[0]?.Capabilities, ['deny'])
})

const REFUSED = [
  { name: 'blanks only', text: ' \n', error: 'Invalid policy:  \n' },
  { name: 'a comment only', text: '# nothing', error: 'Invalid policy: # nothing' },
  { name: 'an empty JSON object', text: '{}', error: 'Invalid policy: {}' },
  {
    name: 'an unknown block',
    text: 'namespaces "a" { policy = "read" }',
    error: 'Invalid or duplicate policy keys: namespaces',
  },
  {
    name: 'an unknown key in a block',
    text: 'namespace "a" { polcy = "deny" }',
    error: 'Invalid or duplicate policy keys: polcy',
  },
  {
    name: 'several unknown keys at once',
    text: 'foo {}\nnode { policy = "read" bar = 1 }',
    error: 'Invalid or duplicate policy keys: foo, bar',
  },
  {
    name: 'a key in another case',
    text: 'Agent { policy = "read" }',
    error: 'Invalid or duplicate policy keys: Agent',
  },
  {
    name: 'a block that may appear once, twice',
    text: 'agent { policy = "read" }\nagent { policy = "deny" }',
    error: 'Invalid or duplicate policy keys: agent',
  },
  {
    name: 'the same in a JSON list',
    text: '{"node": [{"policy": "read"}, {"policy": "deny"}]}',
    error: 'Invalid or duplicate policy keys: node',
  },
  {
    name: 'a key twice in a block',
    text: 'namespace "a" { policy = "read" policy = "deny" }',
    error: 'Invalid or duplicate policy keys: policy',
  },
  {
    name: 'two variables blocks',
    text: 'namespace "a" { variables { path "b" {} } variables { path "c" {} } }',
    error: 'Invalid or duplicate policy keys: variables',
  },
  {
    name: 'an unknown key in variables',
    text: 'namespace "a" { variables { paths "b" {} } }',
    error: 'Invalid or duplicate policy keys: paths',
  },
  {
    name: 'a shorthand on a variable path',
    text: 'namespace "a" { variables { path "b" { policy = "read" } } }',
    error: 'Invalid or duplicate policy keys: policy',
  },
  {
    name: 'capabilities where there are none',
    text: 'node { policy = "read" capabilities = ["read"] }',
    error: 'Invalid or duplicate policy keys: capabilities',
  },
  {
    name: 'a namespace without a label',
    text: 'namespace { policy = "read" }',
    error: 'Invalid namespace name: ""',
  },
  {
    name: 'the same in JSON',
    text: '{"namespace": {"policy": "read"}}',
    error: 'Invalid namespace name: ""',
  },
  {
    name: 'a namespace label with other characters',
    text: 'namespace "a_b" { policy = "read" }',
    error: 'Invalid namespace name: "a_b"',
  },
  {
    name: 'a namespace label of 129 characters',
    text: `namespace "${'a'.repeat(129)}" {}`,
    error: `Invalid namespace name: "${'a'.repeat(129)}"`,
  },
  {
    name: 'an unknown namespace policy',
    text: 'namespace "a" { policy = "list" }',
    error: 'Invalid namespace policy: "list"',
  },
  {
    name: 'an unknown namespace capability',
    text: 'namespace "a" { capabilities = ["read-job", "reed-job"] }',
    error: `Invalid namespace capability 'reed-job': "a"`,
  },
  {
    name: 'no variable paths',
    text: 'namespace "a" { variables {} }',
    error: 'Invalid variable policy: no variable paths in namespace a',
  },
  {
    name: 'a variable path with a leading slash',
    text: 'namespace "a" { variables { path "/b" { capabilities = ["read"] } } }',
    error: `Invalid variable path "/b" in namespace a: cannot start with a leading '/'`,
  },
  {
    name: 'an empty variable path',
    text: 'namespace "a" { variables { path "" { capabilities = ["read"] } } }',
    error: 'Invalid missing variable path in namespace a',
  },
  {
    name: 'an unknown variable capability',
    text: 'namespace "a" { variables { path "b" { capabilities = ["delete"] } } }',
    error: `Invalid variable capability 'delete' in namespace a`,
  },
  {
    name: 'a node pool label with other characters',
    text: 'node_pool "a b" { policy = "read" }',
    error: `Invalid node pool name 'a b'`,
  },
  {
    name: 'an unknown node pool policy',
    text: 'node_pool "gpu" { policy = "all" }',
    error: `Invalid node pool policy 'all' for 'gpu'`,
  },
  {
    name: 'an unknown node pool capability',
    text: 'node_pool "gpu" { capabilities = ["list"] }',
    error: `Invalid node pool capability 'list' for 'gpu'`,
  },
  {
    name: 'a host volume label with other characters',
    text: 'host_volume "a_b" { policy = "read" }',
    error: 'Invalid host volume name: "a_b"',
  },
  {
    name: 'an unknown host volume policy',
    text: 'host_volume "a" { policy = "mount" }',
    error: 'Invalid host volume policy: "mount"',
  },
  {
    name: 'an unknown host volume capability',
    text: 'host_volume "a" { capabilities = ["mount"] }',
    error: `Invalid host volume capability 'mount': "a"`,
  },
  {
    name: 'an unknown operator capability',
    text: 'operator { capabilities = ["reboot"] }',
    error: `Invalid operator capability 'reboot'`,
  },
  {
    name: 'an unknown operator policy',
    text: 'operator { policy = "all" }',
    error: 'Invalid operator policy: "all"',
  },
  {
    name: 'an unknown agent policy',
    text: 'agent { policy = "list" }',
    error: 'Invalid agent policy: "list"',
  },
  { name: 'a node block without policy', text: 'node {}', error: 'Invalid node policy: ""' },
  {
    name: 'an unknown quota policy',
    text: 'quota { policy = "all" }',
    error: 'Invalid quota policy: "all"',
  },
  {
    name: 'the policy scale for plugins',
    text: 'plugin { policy = "scale" }',
    error: 'Invalid plugin policy: "scale"',
  },
  {
    name: 'a namespace that is no block',
    text: 'namespace = "a"',
    error: 'Failed to parse ACL Policy: namespace must be a block',
  },
  {
    name: 'two labels',
    text: 'namespace "a" "b" { policy = "read" }',
    error: 'Failed to parse ACL Policy: namespace takes one label',
  },
  {
    name: 'a label where none belongs',
    text: 'agent "a" { policy = "read" }',
    error: 'Failed to parse ACL Policy: agent takes no label',
  },
  {
    name: 'a policy that is a number',
    text: 'agent { policy = 1 }',
    error: 'Failed to parse ACL Policy: policy must be a string',
  },
  {
    name: 'capabilities that are a text',
    text: 'namespace "a" { capabilities = "read-job" }',
    error: 'Failed to parse ACL Policy: capabilities must be a list of strings',
  },
  {
    name: 'capabilities that are numbers',
    text: '{"namespace": {"a": {"capabilities": [1]}}}',
    error: 'Failed to parse ACL Policy: capabilities must be a list of strings',
  },
]

for (const { name, text, error } of REFUSED)
  test(`parseAclRules rejects ${name}`, () => {
    assert.equal(errorOf(text), error)
  })

test('parseAclRules: a syntax error is reported with its position', () => {
  assert.match(
    errorOf('agent {\n  policy = "read"\n'),
    /^Failed to parse ACL Policy: rules:3,1-1: /,
  )
  assert.match(errorOf('{"agent": }'), /^Failed to parse ACL Policy: rules:1,11-12: /)
})

const ACCEPTED = [
  { name: 'a label of 128 characters', text: `namespace "${'a'.repeat(128)}" {}` },
  { name: 'a star anywhere in a label', text: 'namespace "*-prod-*" { policy = "read" }' },
  { name: 'an underscore in a node pool label', text: 'node_pool "gpu_*" { policy = "deny" }' },
  { name: 'the policy scale outside of namespaces', text: 'agent { policy = "scale" }' },
  { name: 'a namespace with neither policy nor capabilities', text: 'namespace "a" {}' },
  {
    name: 'an interpolation as plain text',
    text: '{"namespace": {"a": {"variables": {"path": {"${x}": {}}}}}}',
  },
]

for (const { name, text } of ACCEPTED)
  test(`parseAclRules accepts ${name}`, () => {
    rulesOf(text)
  })

test('parseAclRules: a text beyond the limit is rejected before it is parsed', () => {
  const error = errorOf('#'.repeat(ACL_RULES_LENGTH_MAX + 1))
  assert.match(error, /^Failed to parse ACL Policy: the text is longer than \d+ characters$/)
})

test('parseAclRules: one rule more than the limit is rejected', () => {
  const text = (count: number) => 'namespace "a" {}\n'.repeat(count)
  assert.equal(rulesOf(text(ACL_RULES_COUNT_MAX)).Namespaces?.length, ACL_RULES_COUNT_MAX)
  assert.match(errorOf(text(ACL_RULES_COUNT_MAX + 1)), /at most 4096 rules and paths$/)
  const labels = Object.fromEntries(
    Array.from({ length: ACL_RULES_COUNT_MAX + 1 }, (_, i) => [`n${i}`, {}]),
  )
  assert.match(errorOf(JSON.stringify({ namespace: labels })), /at most 4096 rules and paths$/)
})

test('parseAclRules: deep nesting is rejected without a crash', () => {
  const depth = 50_000
  assert.match(errorOf(`a = ${'['.repeat(depth)}`), /^Failed to parse ACL Policy: /)
  assert.match(errorOf(`{"namespace":${'{"a":'.repeat(depth)}`), /^Failed to parse ACL Policy: /)
  assert.match(errorOf('a {'.repeat(depth)), /^Failed to parse ACL Policy: /)
})

test('parseAclRules: keys with the names of built-in properties are just unknown', () => {
  assert.match(errorOf('{"__proto__": {"policy": "write"}}'), /^Invalid or duplicate policy keys: /)
  assert.match(errorOf('constructor {}'), /^Invalid or duplicate policy keys: constructor$/)
})

test('parseAclRules: no text makes it throw, and a message stays short', () => {
  const pieces = fc.constantFrom(
    'namespace',
    '"a"',
    '{',
    '}',
    'policy',
    '=',
    '"deny"',
    '[',
    ']',
    ',',
    '\n',
    '<<E',
    '\u0000',
    '"',
  )
  const texts = fc.oneof(
    fc.string(),
    fc.array(pieces).map((list) => list.join(' ')),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const rules = parseAclRules(text)
      if (!rules.ok) assert.ok(rules.error.length < 2_000)
    }),
  )
})
