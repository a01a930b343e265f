import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash, generateKeyPairSync, verify } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { directoryEntry, fileEntry, linkEntry, createTar } from './archive.ts'
import { debName, debOf } from './deb.ts'
import { rpmName, rpmOf } from './rpm.ts'
import { publicKeyLine, signatureText } from './sign.ts'
import type { Package } from './system-package.ts'

const EPOCH = 1_795_000_000
const LONG = `usr/lib/reeve/${'a-long-name-'.repeat(10)}.txt`

const given: Package = {
  stamp: {
    version: '1.2.3',
    commit: 'c'.repeat(40),
    epoch: EPOCH,
    helper: 'reeve-task-1',
    target: { platform: 'linux', arch: 'x64' },
  },
  summary: 'a summary',
  description: ['A description', '', 'of three lines.'],
  entries: [
    fileEntry('usr/lib/reeve/program', '#!/bin/sh\n', 0o755),
    fileEntry(LONG, 'long'),
    linkEntry('usr/bin/reeve', '../lib/reeve/program'),
    fileEntry('etc/reeve.d/reeve.hcl', 'region = "global"\n', 0o640),
    directoryEntry('etc/reeve.d', 0o750),
  ],
  configuration: ['etc/reeve.d/reeve.hcl'],
  scripts: {
    postinst: '#!/bin/sh\nexit 0\n',
    prerm: '#!/bin/sh\nexit 0\n',
    postrm: '#!/bin/sh\nexit 0\n',
  },
}

function has(t: TestContext, tool: string): boolean {
  if (spawnSync(tool, ['--version']).error === undefined) return true
  t.skip(`${tool} is not installed`)
  return false
}

function said(command: string, ...args: string[]): string {
  const { stdout, stderr, status } = spawnSync(command, args, { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  return stdout
}

function written(t: TestContext, name: string, data: Buffer): string {
  const folder = fs.mkdtempSync(join(tmpdir(), 'reeve-release-test-'))
  t.after(() => fs.rmSync(folder, { recursive: true }))
  const file = join(folder, name)
  fs.writeFileSync(file, data)
  return file
}

test('tar: holds names of any length, modes and links, sorted, and is the same twice', (t) => {
  const data = createTar(given.entries, EPOCH)
  assert.deepEqual(data, createTar(given.entries.toReversed(), EPOCH))
  const listed = said('tar', '--utc', '-tvf', written(t, 'a.tar', data))
    .trim()
    .split('\n')
  const names = listed.map((line) => line.split(/\s+/).slice(5).join(' '))
  assert.deepEqual(names, [
    'etc/',
    'etc/reeve.d/',
    'etc/reeve.d/reeve.hcl',
    'usr/',
    'usr/bin/',
    'usr/bin/reeve -> ../lib/reeve/program',
    'usr/lib/',
    'usr/lib/reeve/',
    LONG,
    'usr/lib/reeve/program',
  ])
  assert.match(listed[1] ?? '', /^drwxr-x--- root\/root/)
  assert.match(listed[2] ?? '', /^-rw-r-----/)
})

test('deb: dpkg reads its control data, its files and its configuration', (t) => {
  if (!has(t, 'dpkg-deb') || !has(t, 'xz')) return
  const file = written(t, debName(given), debOf(given))
  assert.equal(
    said('dpkg-deb', '--field', file, 'Package', 'Version', 'Architecture').trim(),
    'Package: reeve\nVersion: 1.2.3\nArchitecture: amd64',
  )
  assert.equal(said('dpkg-deb', '--info', file, 'conffiles'), '/etc/reeve.d/reeve.hcl\n')
  assert.match(
    said('dpkg-deb', '--contents', file),
    /\.\/usr\/bin\/reeve -> \.\.\/lib\/reeve\/program/,
  )
  assert.deepEqual(debOf(given), debOf(given))
  const copyright = spawnSync(
    'sh',
    ['-c', 'dpkg-deb --fsys-tarfile "$0" | tar -xO ./usr/share/doc/reeve/copyright', file],
    { encoding: 'utf8' },
  ).stdout
  // Debian names common licences by their file instead of repeating them.
  assert.match(
    copyright,
    /^Copyright: \d{4} .+\nLicense: Apache-2\.0\n.*common-licenses\/Apache-2\.0/m,
  )
  assert.ok(copyright.length < 1_000, copyright)
})

test('rpm: rpm accepts its digests and reads its files, scripts and requirements', (t) => {
  if (!has(t, 'rpm')) return
  const file = written(t, rpmName(given), rpmOf(given))
  assert.match(said('rpm', '--checksig', file), /digests OK/)
  const query = ['-qp', '--queryformat', '%{NAME} %{VERSION}-%{RELEASE} %{ARCH} %{OS}']
  assert.equal(said('rpm', ...query, file), 'reeve 1.2.3-1 x86_64 linux')
  assert.match(said('rpm', '-qpl', file), /^\/usr\/lib\/reeve\/program$/m)
  assert.equal(said('rpm', '-qpc', file), '/etc/reeve.d/reeve.hcl\n')
  assert.match(said('rpm', '-qp', '--requires', file), /^libatomic$/m)
  assert.match(said('rpm', '-qp', '--scripts', file), /postinstall/)
  assert.deepEqual(rpmOf(given), rpmOf(given))
})

test('signature: Ed25519 over the BLAKE2b hash, with a comment that is signed too', (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const data = Buffer.from('abc  file\n')
  const [, line = '', comment = '', trusted = ''] = signatureText(
    privateKey,
    data,
    'reeve 1',
  ).split('\n')
  const signature = Buffer.from(line, 'base64').subarray(10)
  const hash = createHash('blake2b512').update(data).digest()
  assert.ok(verify(null, hash, publicKey, signature))
  assert.equal(comment, 'trusted comment: reeve 1')
  const signed = Buffer.concat([signature, Buffer.from('reeve 1')])
  assert.ok(verify(null, signed, publicKey, Buffer.from(trusted, 'base64')))
  if (spawnSync('minisign', ['-v']).error !== undefined) return
  const file = written(t, 'SHA256SUMS', data)
  fs.writeFileSync(`${file}.minisig`, signatureText(privateKey, data, 'reeve 1'))
  said('minisign', '-Vqm', file, '-P', publicKeyLine(privateKey))
})
