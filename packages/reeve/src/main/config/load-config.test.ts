import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  anAgentConfig,
  hostFacts,
  loadSources,
  type GivenSources,
} from '../../../test/build/agent-config.ts'
import type { AgentConfig } from './agent-config.ts'
import { optionEntries } from './options.ts'
import type { ConfigProblem } from './problem.ts'

const dev = { dev: true } as const

const precedenceCases: {
  name: string
  given: GivenSources
  read: (config: AgentConfig) => unknown
  want: unknown
}[] = [
  {
    name: 'a default stands when nobody says anything',
    given: { flags: dev },
    read: (config) => config.region,
    want: 'global',
  },
  {
    name: 'a file goes before the default',
    given: { flags: dev, files: { 'a.hcl': 'region = "file"' } },
    read: (config) => config.region,
    want: 'file',
  },
  {
    name: 'a later file goes before an earlier one',
    given: { flags: dev, files: { 'b.hcl': 'region = "one"', 'a.json': '{"region": "two"}' } },
    read: (config) => config.region,
    want: 'two',
  },
  {
    name: 'a later file leaves alone what it does not speak of',
    given: { flags: dev, files: { 'a.hcl': 'region = "one"', 'b.hcl': 'datacenter = "two"' } },
    read: (config) => [config.region, config.datacenter],
    want: ['one', 'two'],
  },
  {
    name: 'the environment goes before files',
    given: {
      flags: dev,
      environment: { REEVE_REGION: 'environment' },
      files: { 'a.hcl': 'region = "file"' },
    },
    read: (config) => config.region,
    want: 'environment',
  },
  {
    name: 'a flag goes before the environment',
    given: {
      flags: { ...dev, region: 'flag' },
      environment: { REEVE_REGION: 'environment' },
      files: { 'a.hcl': 'region = "file"' },
    },
    read: (config) => config.region,
    want: 'flag',
  },
  {
    name: 'an empty variable counts as not set',
    given: {
      flags: dev,
      environment: { REEVE_REGION: '' },
      files: { 'a.hcl': 'region = "file"' },
    },
    read: (config) => config.region,
    want: 'file',
  },
  {
    name: 'null in a file counts as not set',
    given: { flags: dev, files: { 'a.hcl': 'region = "a"', 'b.hcl': 'region = null' } },
    read: (config) => config.region,
    want: 'a',
  },
  {
    name: 'a list is replaced as a whole',
    given: {
      flags: { ...dev, servers: ['10.0.0.3', 'c:1'] },
      environment: { REEVE_SERVERS: '10.0.0.2' },
      files: { 'a.hcl': 'client { servers = ["10.0.0.1"] }' },
    },
    read: (config) => config.client.servers,
    want: ['10.0.0.3:4646', 'c:1'],
  },
  {
    name: 'maps of several files are joined name by name',
    given: {
      flags: dev,
      files: {
        'a.hcl': 'client {\n meta {\n rack = "r1"\n zone = "z1"\n }\n}',
        'b.json': '{"client": {"meta": {"rack": "r2", "slots": 4}}}',
      },
    },
    read: (config) => config.client.meta,
    want: { rack: 'r2', zone: 'z1', slots: '4' },
  },
  {
    name: 'a flag can switch on what a file switches off',
    given: { flags: { ...dev, acl: true }, files: { 'a.hcl': 'acl { enabled = false }' } },
    read: (config) => config.acl.enabled,
    want: true,
  },
]

for (const c of precedenceCases)
  test(`configuration: ${c.name}`, () => {
    assert.deepEqual(c.read(anAgentConfig(c.given)), c.want)
  })

const factCases = [
  {
    name: 'a relative directory starts at the working directory',
    given: { flags: { ...dev, dataDirectory: 'data' } },
    read: (config: AgentConfig) => [config.dataDirectory, config.isDataTemporary],
    want: ['/here/data', false],
  },
  {
    name: 'logs are JSON where standard error is no terminal',
    given: { flags: dev, facts: { isErrorTerminal: false } },
    read: (config: AgentConfig) => config.log.json,
    want: true,
  },
  {
    name: 'an agent that listens everywhere advertises an address others can dial',
    given: { flags: { server: true, dataDirectory: '/d', bind: '0.0.0.0' } } as const,
    read: (config: AgentConfig) => config.advertise,
    want: { host: hostFacts.address, httpPort: undefined },
  },
  {
    name: 'a machine without such an address advertises loopback',
    given: {
      flags: { server: true, dataDirectory: '/d', bind: '::' },
      facts: { address: undefined },
    } as const,
    read: (config: AgentConfig) => config.advertise.host,
    want: '127.0.0.1',
  },
]

for (const c of factCases)
  test(`configuration: ${c.name}`, () => {
    assert.deepEqual(c.read(anAgentConfig(c.given)), c.want)
  })

const problemCases: { name: string; given: GivenSources; want: readonly string[] }[] = [
  {
    name: 'a flag names itself and its value',
    given: { flags: { ...dev, httpPort: '70000' } },
    want: ['--http-port must be a whole number from 0 to 65535, but it is "70000".'],
  },
  {
    name: 'a variable names itself and its value',
    given: { flags: dev, environment: { REEVE_ACL: 'maybe' } },
    want: ['REEVE_ACL must be true or false, but it is "maybe".'],
  },
  {
    name: 'a secret is not repeated',
    given: { flags: dev, environment: { REEVE_JOIN_TOKEN: 'short' } },
    want: ['REEVE_JOIN_TOKEN must be text of 16 to 1024 characters.'],
  },
  {
    name: 'problems of all sources are told together, files first',
    given: {
      flags: { ...dev, logLevel: 'loud' },
      environment: { REEVE_REGION: 'a b' },
      files: { 'a.hcl': 'log_json = "perhaps"', 'b.hcl': 'colour = "red"' },
    },
    want: [
      'log_json must be true or false.',
      'There is no setting "colour".',
      'REEVE_REGION must be a name of 1 to 128 letters, digits, ".", "_" and "-", ' +
        'the first a letter or digit, but it is "a b".',
      '--log-level must be one of debug, info, warn, error, but it is "loud".',
    ],
  },
  {
    name: '--dev refuses every address but loopback',
    given: { flags: { ...dev, bind: '0.0.0.0' } },
    want: [
      '--bind is 0.0.0.0, but --dev listens on loopback only: it runs whatever it is sent. ' +
        'Leave one of them out; --server --client is the same without --dev.',
    ],
  },
  {
    name: '--dev refuses them also from a file',
    given: { flags: dev, files: { 'a.hcl': 'bind_addr = "10.0.0.1"' } },
    want: [
      'bind_addr is 10.0.0.1, but --dev listens on loopback only: it runs whatever it is sent. ' +
        'Leave one of them out; --server --client is the same without --dev.',
    ],
  },
  {
    name: 'an agent must be something and keep its data somewhere',
    given: {},
    want: [
      'The agent would be neither server nor node. Start it with --dev to try it out, or with ' +
        '--server, --client or both (in a file: server { enabled = true }).',
      'The data needs a place: --data-dir DIR, REEVE_DATA_DIR, or data_dir = "/var/lib/reeve" ' +
        'in a file.',
    ],
  },
  {
    name: 'a node alone needs servers',
    given: { flags: { client: true, dataDirectory: '/d' } },
    want: [
      'A node without a server in its process needs servers to dial: --join ADDR, REEVE_SERVERS, ' +
        'or client { servers = ["10.0.0.1"] } in a file.',
    ],
  },
  {
    name: 'what was refused is not called missing',
    given: { flags: { client: true, servers: ['http://a'], dataDirectory: '/d' } },
    want: [
      '--join must be a list in which each is a host or host:port without scheme, an IPv6 ' +
        'address with a port in brackets, but it is "http://a".',
    ],
  },
]

for (const c of problemCases)
  test(`configuration problems: ${c.name}`, () => {
    assert.deepEqual(messagesOf(c.given), c.want)
  })

function messagesOf(given: GivenSources): readonly string[] {
  const loaded = loadSources(given)
  return loaded.ok ? [] : loaded.error.map(({ message }: ConfigProblem) => message)
}

for (const bind of ['127.0.0.1', '127.8.9.1', '::1', 'localhost'])
  test(`configuration: --dev listens on ${bind}`, () => {
    assert.equal(anAgentConfig({ flags: { ...dev, bind } }).bind, bind)
  })

const warningCases: { name: string; given: GivenSources; want: readonly string[] }[] = [
  { name: '--dev is quiet', given: { flags: dev }, want: [] },
  {
    name: 'an open server without ACLs',
    given: {
      flags: { server: true, dataDirectory: '/d', bind: '10.0.0.1' },
      environment: { REEVE_ACL: 'false' },
    },
    want: [
      'ACLs are off and the API listens on 10.0.0.1: anybody who can connect has full access.',
    ],
  },
  {
    name: 'pages of any origin without ACLs',
    given: { flags: dev, environment: { REEVE_HTTP_API_CORS_ORIGINS: '*' } },
    want: ['ACLs are off and pages of any origin may read answers: any website may do everything.'],
  },
  {
    name: 'a misspelt variable, but none of a task or of the command line',
    given: {
      flags: dev,
      environment: {
        REEVE_LOG_LEVLE: 'debug',
        REEVE_TOKEN: 'x',
        REEVE_ADDR: 'x',
        REEVE_ALLOC_ID: 'x',
        REEVE_TASK_NAME: 'x',
        REEVE_JOB_NAME: 'x',
        REEVE_GROUP_NAME: 'x',
        REEVE_DC: 'x',
        REEVE_CPU_LIMIT: 'x',
        REEVE_META_RACK: 'x',
        REEVE_VAR_region: 'x',
        PATH: '/bin',
      },
    },
    want: ['The variable "REEVE_LOG_LEVLE" is not read. Did you mean "REEVE_LOG_LEVEL"?'],
  },
]

for (const c of warningCases)
  test(`configuration warnings: ${c.name}`, () => {
    const loaded = loadSources(c.given)
    assert.deepEqual(loaded.ok && loaded.value.warnings, c.want)
  })

test('configuration: whatever the variables hold, loading ends with a value or with problems', () => {
  const names = optionEntries.flatMap(([, { environment }]) => environment ?? [])
  const texts = fc.oneof(
    fc.string(),
    fc.constantFrom('1', 'true', '::1', 'a,b', '1h', '/', '[', '*'),
  )
  const variables = fc.dictionary(fc.constantFrom(...names), texts)
  fc.assert(
    fc.property(variables, (environment) => {
      const loaded = loadSources({ flags: dev, environment })
      if (!loaded.ok) assert.ok(loaded.error.every(({ origin }) => origin.kind === 'environment'))
    }),
    { numRuns: 200 },
  )
})
