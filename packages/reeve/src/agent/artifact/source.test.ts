import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findChecksum, parseChecksum } from './stage-artifact.ts'
import { archiveFormatOf } from './compression.ts'
import { parseArtifactSource, redactAddress } from './source.ts'

const sources = [
  { text: 'https://h/p/a.zip', kind: 'http', address: 'https://h/p/a.zip', name: 'a.zip' },
  { text: 'http://h/a?x=1&archive=false', kind: 'http', address: 'http://h/a?x=1', name: 'a' },
  { text: 'https://h/a.tgz//sub/dir', kind: 'http', address: 'https://h/a.tgz', name: 'a.tgz' },
  { text: 'git::https://h/r.git?ref=v1', kind: 'git', address: 'https://h/r.git', name: 'r.git' },
  { text: 'git@h:o/r.git', kind: 'git', address: 'git@h:o/r.git', name: 'r.git' },
  { text: '/opt/a.tar', kind: 'file', address: '/opt/a.tar', name: 'a.tar' },
  { text: 'https://h/a?filename=../b', kind: 'http', address: 'https://h/a', name: 'download' },
  {
    text: 's3::https://s3.amazonaws.com/b/k.zip?region=eu-west-1&aws_access_key_id=A',
    kind: 's3',
    address: 'https://s3.amazonaws.com/b/k.zip',
    name: 'k.zip',
  },
  {
    text: 'bucket.s3-eu-west-1.amazonaws.com/k.zip//in',
    kind: 's3',
    address: 'https://bucket.s3-eu-west-1.amazonaws.com/k.zip',
    name: 'k.zip',
  },
  {
    text: 'https://bucket.s3.amazonaws.com/k?region=x',
    kind: 'http',
    address: 'https://bucket.s3.amazonaws.com/k?region=x',
    name: 'k',
  },
  {
    text: 'www.googleapis.com/storage/v1/b/o',
    kind: 'gcs',
    address: 'https://www.googleapis.com/storage/v1/b/o',
    name: 'o',
  },
  { text: 'https://h/', kind: 'http', address: 'https://h/', name: 'h' },
]

for (const { text, kind, address, name } of sources) {
  test(`parseSource: ${text}`, () => {
    const found = parseArtifactSource(text, null)
    assert.deepEqual([found.kind, found.address, found.name], [kind, address, name])
  })
}

test('options of the job come before those of the address, and a part may be asked for', () => {
  const found = parseArtifactSource('https://h/a.zip//in?checksum=md5:1&ref=a', { ref: 'b' })
  assert.deepEqual(found.options, { checksum: 'md5:1', ref: 'b' })
  assert.equal(found.subdirectory, 'in')
})

for (const text of ['s3::ftp://h/b', 'gcs::file:///b', 'hg::x', 'ftp://h/a', 'host.name/x', '']) {
  test(`parseSource refuses ${JSON.stringify(text)}`, () => {
    assert.throws(() => parseArtifactSource(text, null), { kind: 'task-artifact' })
  })
}

test('displayed addresses have no password and no query', () => {
  assert.equal(redactAddress('https://u:p@h/a?token=1'), 'https://h/a')
  assert.equal(redactAddress('https://u:p@ss@h/a@b'), 'https://h/a@b', 'nor a part of one')
})

const MD5 = 'd41d8cd98f00b204e9800998ecf8427e'

test('a checksum names its algorithm, or its length does', () => {
  assert.deepEqual(parseChecksum(`md5:${MD5.toUpperCase()}`), { algorithm: 'md5', hex: MD5 })
  assert.deepEqual(parseChecksum(MD5), { algorithm: 'md5', hex: MD5 })
  for (const bad of ['sha1:12', `sha1:${MD5}`, 'crc:1', 'md5:zz', '']) {
    assert.throws(() => parseChecksum(bad), { kind: 'task-artifact' })
  }
})

test('a list of checksums is read in its three forms', () => {
  const hex = 'a'.repeat(64)
  for (const list of [`${hex}  a.zip\n`, `${hex} *./x/a.zip`, `SHA256 (a.zip) = ${hex}`, hex]) {
    assert.deepEqual(findChecksum(`# list\n${list}`, 'a.zip'), { algorithm: 'sha256', hex })
  }
  assert.throws(() => findChecksum(`${hex}  b.zip`, 'a.zip'), { kind: 'task-artifact' })
})

test('the archive format follows from the name or the option', () => {
  assert.equal(archiveFormatOf('a.TAR.GZ', undefined)?.compression, 'gz')
  assert.equal(archiveFormatOf('a.tar.zst', undefined)?.archive, 'tar')
  assert.equal(archiveFormatOf('a', 'zip')?.archive, 'zip')
  assert.equal(archiveFormatOf('a.zip', 'false'), undefined)
  assert.equal(archiveFormatOf('a.bin', undefined), undefined)
  assert.throws(() => archiveFormatOf('a', 'rar'), { kind: 'task-artifact' })
})
