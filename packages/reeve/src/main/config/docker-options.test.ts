import assert from 'node:assert/strict'
import test from 'node:test'
import { loadSources } from '../../../test/build/agent-config.ts'
import { tcpEndpoint } from './docker-options.ts'

/** What is said of a file whose settings of the docker driver are these. */
function complaint(inside: string): string {
  const text = `plugin "docker" {\n  config {\n${inside}\n}\n}`
  const loaded = loadSources({ flags: { dev: true }, files: { 'a.hcl': text } })
  return loaded.ok ? '' : loaded.error.map(({ message }) => message).join('; ')
}

const tls = 'tls {\nca = "/ca.pem"\n}'
const cases = [
  { inside: 'endpoint = "tcp://127.0.0.1:2375"', says: '' },
  { inside: `endpoint = "tcp://engine.example:2376"\n${tls}`, says: '' },
  {
    inside: 'endpoint = "tcp://engine.example:2375"',
    says: 'anybody who can connect to it has root access',
  },
  { inside: 'endpoint = "http://127.0.0.1:2375"', says: '`tcp://host:port`' },
  { inside: 'endpoint = "tcp://127.0.0.1"', says: '`tcp://host:port`' },
  { inside: tls, says: 'is a socket, but config.tls is for an engine at tcp://' },
  { inside: 'logging {\nconfig { tag = "x" }\n}', says: 'Add logging.type' },
  { inside: 'logging { type = "journald" }', says: '' },
  { inside: 'auth { helper = "../bin/sh" }', says: 'the name after `docker-credential-`' },
  { inside: 'volumes { selinuxlabel = "x" }', says: '"z" or "Z"' },
  { inside: 'pull_activity_timeout = "0s"', says: 'from 1s to 24h' },
  { inside: 'pull_activity_timeout = "1s"', says: '' },
  { inside: 'infra_image = "a b"', says: 'the name of an image' },
  { inside: 'infra_image = "pause:1"', says: '' },
  { inside: 'infra_image_pull_timeout = "0s"', says: 'from 1s to 24h' },
  { inside: 'infra_image_pull_timeout = "24h"', says: '' },
  { inside: 'pids_limit = 0', says: '' },
  { inside: 'pids_limit = -1', says: 'from 0 to 4194304' },
  { inside: 'extra_labels = ["a b"]', says: 'a list in which each is a name' },
]
for (const { inside, says } of cases)
  test(`docker options: ${JSON.stringify(inside)} is ${says === '' ? 'taken' : 'refused'}`, () => {
    const found = complaint(inside)
    if (says === '') assert.equal(found, '')
    else assert.ok(found.includes(says), found)
  })

test('docker options: the place of an engine behind TCP', () => {
  assert.deepEqual(tcpEndpoint('tcp://[::1]:2376'), { host: '::1', port: 2376 })
  assert.deepEqual(tcpEndpoint('tcp://engine.example:80'), { host: 'engine.example', port: 80 })
  assert.equal(tcpEndpoint('unix:///run/docker.sock'), undefined)
})
