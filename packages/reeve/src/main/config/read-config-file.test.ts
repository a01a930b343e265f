import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { formatProblems } from './problem.ts'
import { readSettings } from './read-config-file.ts'

/** What a person is told about a file. */
function complaints(path: string, text: string): string {
  return formatProblems(readSettings({ path, source: text }).problems, new Map([[path, text]]))
}

const cases = [
  {
    name: 'a value out of its range is shown in its line',
    path: 'reeve.hcl',
    text: 'ports {\n  http = 70000\n}\n',
    want: [
      'reeve.hcl:2,10-15: ports.http must be a whole number from 0 to 65535.',
      '  2 |   http = 70000',
      '    |          ^~~~~',
    ],
  },
  {
    name: 'a misspelt setting finds the right name',
    path: 'reeve.hcl',
    text: 'client {\n\tnode_clas = "gpu"\n}\n',
    want: [
      'reeve.hcl:2,2-11: There is no setting "node_clas" in client. Did you mean "node_class"?',
      '  2 | \tnode_clas = "gpu"',
      '    | \t^~~~~~~~~',
    ],
  },
  {
    name: 'a misspelt block finds the right name',
    path: 'reeve.hcl',
    text: 'sever { enabled = true }',
    want: [
      'reeve.hcl:1,1-6: There is no setting "sever". Did you mean "server"?',
      '  1 | sever { enabled = true }',
      '    | ^~~~~',
    ],
  },
  {
    name: 'a setting in the wrong block is told the right one',
    path: 'reeve.hcl',
    text: 'node_class = "gpu"',
    want: [
      'reeve.hcl:1,1-11: There is no setting "node_class". It belongs in the block client.',
      '  1 | node_class = "gpu"',
      '    | ^~~~~~~~~~',
    ],
  },
  {
    name: 'an unknown plugin finds the right name',
    path: 'reeve.hcl',
    text: 'plugin "rawexec" {\n  config { enabled = true }\n}',
    want: [
      'reeve.hcl:1,1-17: There is no setting "rawexec" in plugin. Did you mean "raw_exec"?',
      '  1 | plugin "rawexec" {',
      '    | ^~~~~~~~~~~~~~~~',
    ],
  },
  {
    name: 'a block given twice is told so',
    path: 'reeve.hcl',
    text: 'client {}\nclient {}',
    want: [
      'reeve.hcl:2,1-7: The block client is already there. Put its settings into one block.',
      '  2 | client {}',
      '    | ^~~~~~',
    ],
  },
  {
    name: 'JSON is marked the same way',
    path: 'reeve.json',
    text: '{\n  "client": { "node_pool": "all" }\n}',
    want: [
      'reeve.json:2,28-33: client.node_pool must be the name of a pool: 1 to 128 letters, ' +
        'digits, "_" and "-", but not "all".',
      '  2 |   "client": { "node_pool": "all" }',
      '    |                            ^~~~~',
    ],
  },
  {
    name: 'several problems of a file are told together',
    path: 'reeve.hcl',
    text: 'region = 5\ndata_dir = "data"\n',
    want: [
      'reeve.hcl:1,10-11: region must be a name of 1 to 128 letters, digits, ".", "_" and "-", ' +
        'the first a letter or digit, in quotes.',
      '  1 | region = 5',
      '    |          ^',
      '',
      'reeve.hcl:2,12-18: data_dir must be an absolute path.',
      '  2 | data_dir = "data"',
      '    |            ^~~~~~',
    ],
  },
  {
    name: 'the line of a secret is not shown',
    path: 'reeve.hcl',
    text: 'join_token = "hunter2"',
    want: ['reeve.hcl:1,14-23: join_token must be text of 16 to 1024 characters.'],
  },
]

for (const c of cases)
  test(`configuration file: ${c.name}`, () => {
    assert.equal(complaints(c.path, c.text), c.want.join('\n'))
  })

const refused = [
  {
    name: 'an argument where a block belongs',
    text: 'client = { enabled = true }',
    says: /block of type "client"/,
  },
  {
    name: 'a block where an argument belongs',
    text: 'region { a = 1 }',
    says: /argument "region"/,
  },
  {
    name: 'a block inside a map',
    text: 'http_api_response_headers {\n X { a = 1 }\n}',
    says: /"X" must be text, not a block/,
  },
  {
    name: 'a list inside a map',
    text: 'client { meta = { rack = ["a"] } }',
    says: /names to text.*look at "rack"/,
  },
  {
    name: 'a text for a list',
    text: 'client { servers = "10.0.0.1" }',
    says: /client.servers must be a list\./,
  },
  {
    name: 'a number in a list of texts',
    text: 'client { servers = [7] }',
    says: /must be a list in which each is a host/,
  },
  { name: 'a reference', text: 'region = var.region', says: /var/ },
  { name: 'a function', text: 'region = upper("eu")', says: /upper/ },
  { name: 'a template', text: 'region = "${name}"', says: /name/ },
  { name: 'a plugin without a label', text: 'plugin {}', says: /label/ },
  {
    name: 'a header with a line break',
    text: 'http_api_response_headers = { X = "a\\nb" }',
    says: /values have one line/,
  },
  {
    name: 'a header with a space in its name',
    text: 'http_api_response_headers = { "X Y" = "a" }',
    says: /look at "X Y"/,
  },
  {
    name: 'an origin with a path',
    text: 'http_api_cors_origins = ["https://a.example/x"]',
    says: /without path/,
  },
  {
    name: 'ports upside down',
    text: 'client {\n reserved { reserved_ports = "90-80" }\n}',
    says: /ranges of ports/,
  },
  {
    name: 'a fraction of a MHz',
    text: 'client {\n reserved { cpu = 0.5 }\n}',
    says: /whole number/,
  },
  {
    name: 'a duration without unit',
    text: 'event_log { max_age = "90" }',
    says: /a duration such as "90s" or "24h", from 1m to 8784h/,
  },
  { name: 'a duration below the least', text: 'event_log { max_age = "1s" }', says: /from 1m/ },
  { name: 'an unfinished text', text: 'region = "eu', says: /string/i },
]

for (const { name, text, says } of refused)
  test(`configuration file: ${name} is refused at its place`, () => {
    const { problems } = readSettings({ path: 'a.hcl', source: text })
    const [first] = problems
    assert.equal(first?.origin.kind, 'file')
    assert.match(first.message, says)
  })

test('configuration file: whatever the text, reading ends with settings or problems', () => {
  const words = [
    'client',
    '{',
    '}',
    '=',
    '"a"',
    'meta',
    '\n',
    'plugin',
    '"raw_exec"',
    '[',
    ']',
    '7',
  ]
  const text = fc.array(fc.constantFrom(...words, ' ', '${', ',')).map((parts) => parts.join(' '))
  fc.assert(
    fc.property(
      fc.oneof(text, fc.string()),
      fc.constantFrom('a.hcl', 'a.json', 'a'),
      (it, path) => {
        formatProblems(readSettings({ path, source: it }).problems, new Map([[path, it]]))
      },
    ),
    { numRuns: 300 },
  )
})
