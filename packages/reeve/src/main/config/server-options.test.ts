import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anAgentConfig, loadSources } from '../../../test/build/agent-config.ts'

const flags = { server: true, dataDirectory: '/d' } as const

function problemOf(text: string): string {
  const loaded = loadSources({ flags, files: { 'a.hcl': text } })
  assert.ok(!loaded.ok)
  return loaded.error.map(({ message }) => message).join('\n')
}

test('regions: an address may leave out scheme and port', () => {
  const text =
    'server {\nregion "us" { addresses = ["us.example", "[::1]:7", "https://b.example"] }\n}'
  const { regions } = anAgentConfig({ flags, files: { 'a.hcl': text } }).server
  assert.deepEqual(regions.others, {
    us: ['http://us.example:4646', 'http://[::1]:7', 'https://b.example'],
  })
})

const wrong = [
  { name: 'a region without addresses', text: 'region "us" { addresses = [] }' },
  { name: 'an address with a path', text: 'region "us" { addresses = ["http://a/b"] }' },
  { name: 'a name that is none', text: 'region "a b" { addresses = ["a"] }' },
  { name: 'a field that nobody knows', text: 'region "us" { addresses = ["a"], x = 1 }' },
]
for (const { name, text } of wrong)
  test(`regions: ${name} is refused`, () => {
    assert.notEqual(problemOf(`server {\n${text.replace(', x', '\nx')}\n}`), '')
  })

test('regions: an authoritative region needs servers that can be asked', () => {
  const said = problemOf('region = "eu"\nserver { authoritative_region = "us" }')
  assert.match(said, /is us, but nothing says where its servers are/)
})

test('regions: the own region may be the authoritative one, and may be listed', () => {
  const text =
    'region = "eu"\nserver {\nauthoritative_region = "eu"\nregion "eu" { addresses = ["a"] }\n}'
  assert.equal(
    anAgentConfig({ flags, files: { 'a.hcl': text } }).server.regions.authoritative,
    'eu',
  )
})
