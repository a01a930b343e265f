/** Images as OCI layouts in a tar (for `podman load`), written without a container engine. */
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { directoryEntry, fileEntry, linkEntry, createTar, type Entry } from './archive.ts'
import { RUNTIME_FLAGS } from './cache.ts'
import { findLibrary } from './runtime.ts'
import { builtAtOf, type ReleaseStamp } from './stamp.ts'

const USER = 10_001
const HOME = 'usr/lib/reeve'
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' } as const
const LOADERS = { x64: 'ld-linux-x86-64.so.2', arm64: 'ld-linux-aarch64.so.1' } as const
/** Shared libraries that the runtime and the tools of a node load. */
const LIBRARIES = [
  'libatomic.so.1',
  'libc.so.6',
  'libm.so.6',
  'libdl.so.2',
  'libpthread.so.0',
  'libstdc++.so.6',
  'libgcc_s.so.1',
  'libresolv.so.2',
  'libnss_dns.so.2',
  'libnss_files.so.2',
]

export interface Image {
  readonly title: string
  readonly layers: readonly (readonly Entry[])[]
  readonly user: string
  readonly command: readonly string[]
}

/** Runs with a read-only root, without capabilities, as its own user. */
export function serverImage(stamp: ReleaseStamp, installation: readonly Entry[]): Image {
  return {
    title: 'Reeve server',
    layers: [systemLayer(stamp), programLayer(installation)],
    user: `${USER}:${USER}`,
    command: ['agent', '--server', '--bind', '0.0.0.0', '--data-dir', '/var/lib/reeve/server'],
  }
}

/** Tasks need a userland: that of busybox. It runs as root, privileged where tasks are isolated. */
export function nodeImage(stamp: ReleaseStamp, installation: readonly Entry[]): Image {
  return {
    title: 'Reeve node',
    layers: [systemLayer(stamp), programLayer(installation), userlandLayer()],
    user: '0:0',
    command: ['agent', '--client', '--data-dir', '/var/lib/reeve/agent'],
  }
}

function systemLayer({ target }: ReleaseStamp): Entry[] {
  const loader = LOADERS[target.arch]
  const owned = { uid: USER, gid: USER }
  return [
    ...LIBRARIES.map((name) =>
      fileEntry(`lib64/${name}`, fs.readFileSync(findLibrary(name)), 0o755),
    ),
    fileEntry(`lib64/${loader}`, fs.readFileSync(findLibrary(loader)), 0o755),
    linkEntry('lib', 'lib64'),
    linkEntry('usr/lib64', '../lib64'),
    fileEntry(
      'etc/passwd',
      `root:x:0:0:root:/root:/bin/sh\nreeve:x:${USER}:${USER}::/var/lib/reeve:/sbin/nologin\nnobody:x:65534:65534::/nonexistent:/sbin/nologin\n`,
    ),
    fileEntry('etc/group', `root:x:0:\nreeve:x:${USER}:\nnogroup:x:65534:\n`),
    fileEntry('etc/nsswitch.conf', 'hosts: files dns\n'),
    directoryEntry('tmp', 0o1777),
    { ...directoryEntry('var/lib/reeve', 0o755), ...owned },
    { ...directoryEntry('var/lib/reeve/server', 0o700), ...owned },
    { ...directoryEntry('var/lib/reeve/agent', 0o711) },
  ]
}

function programLayer(installation: readonly Entry[]): Entry[] {
  const needed = installation.filter(({ path }) => !/^(?:docs|share)(?:\/|$)/.test(path))
  return [
    ...needed.map((entry) => ({ ...entry, path: `${HOME}/${entry.path}` })),
    linkEntry('usr/bin/reeve', '../lib/reeve/bin/reeve'),
  ]
}

const BUSYBOX = '/bin/busybox'
const COMMANDS = [
  'sh',
  'true',
  'false',
  'cat',
  'echo',
  'env',
  'sleep',
  'ls',
  'mkdir',
  'rm',
  'cp',
  'mv',
  'ln',
  'chmod',
  'chown',
  'id',
  'ps',
  'kill',
  'grep',
  'sed',
  'awk',
  'head',
  'tail',
  'sort',
  'tar',
  'gzip',
  'date',
  'uname',
  'hostname',
  'wget',
  'nc',
  'test',
  'expr',
  'seq',
  'touch',
  'mount',
  'umount',
  'ip',
  'readlink',
  'dirname',
  'basename',
  'wc',
  'cut',
  'tr',
  'xargs',
  'find',
  'stat',
  'df',
  'du',
]

function userlandLayer(): Entry[] {
  if (!fs.existsSync(BUSYBOX))
    throw new Error(`${BUSYBOX} is missing (Debian: apt-get install busybox-static).`)
  return [
    fileEntry('bin/busybox', fs.readFileSync(BUSYBOX), 0o755),
    ...COMMANDS.map((name) => linkEntry(`bin/${name}`, 'busybox')),
    linkEntry('usr/bin/env', '../../bin/busybox'),
  ]
}

/** The layout as a tar. */
export function imageOf(image: Image, stamp: ReleaseStamp): Buffer {
  const blobs = new Map<string, Buffer>()
  const add = (data: Buffer): { digest: string; size: number } => {
    const hash = createHash('sha256').update(data).digest('hex')
    blobs.set(hash, data)
    return { digest: `sha256:${hash}`, size: data.length }
  }
  const addJson = (value: object): { digest: string; size: number } =>
    add(Buffer.from(JSON.stringify(value)))
  const tars = image.layers.map((entries) => createTar(entries, stamp.epoch))
  const layers = tars.map((tar) => ({
    mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
    ...add(gzipSync(tar, { level: 9 })),
  }))
  const diffs = tars.map((tar) => `sha256:${createHash('sha256').update(tar).digest('hex')}`)
  const config = addJson(configOf(image, stamp, diffs))
  const labels = labelsOf(image, stamp)
  const manifest = addJson({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...config },
    layers,
    annotations: labels,
  })
  const platform = { architecture: ARCHITECTURES[stamp.target.arch], os: 'linux' }
  const index = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [
      {
        mediaType: 'application/vnd.oci.image.manifest.v1+json',
        ...manifest,
        platform,
        annotations: { 'org.opencontainers.image.ref.name': stamp.version },
      },
    ],
  }
  const files = [...blobs].map(([hash, data]) => fileEntry(join('blobs/sha256', hash), data))
  return createTar(
    [
      fileEntry('oci-layout', '{"imageLayoutVersion":"1.0.0"}'),
      fileEntry('index.json', JSON.stringify(index)),
      ...files,
    ],
    stamp.epoch,
  )
}

function labelsOf({ title }: Image, stamp: ReleaseStamp): Record<string, string> {
  const name = (key: string): string => `org.opencontainers.image.${key}`
  return {
    [name('title')]: title,
    [name('version')]: stamp.version,
    [name('revision')]: stamp.commit,
    [name('created')]: builtAtOf(stamp),
    [name('licenses')]: 'Apache-2.0',
    [name('source')]: 'https://github.com/reeve/reeve',
  }
}

function configOf(image: Image, stamp: ReleaseStamp, diffs: readonly string[]): object {
  return {
    created: builtAtOf(stamp),
    architecture: ARCHITECTURES[stamp.target.arch],
    os: 'linux',
    config: {
      User: image.user,
      ExposedPorts: { '4646/tcp': {} },
      Env: [
        'PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
        'MALLOC_MMAP_THRESHOLD_=262144',
        'MALLOC_TRIM_THRESHOLD_=4194304',
        'HOME=/tmp',
      ],
      Entrypoint: [`/${HOME}/lib/node`, ...RUNTIME_FLAGS, `/${HOME}/program/reeve.js`],
      Cmd: image.command,
      Volumes: { '/var/lib/reeve': {} },
      WorkingDir: '/',
      StopSignal: 'SIGTERM',
      Labels: labelsOf(image, stamp),
    },
    rootfs: { type: 'layers', diff_ids: diffs },
    history: diffs.map(() => ({ created: builtAtOf(stamp), created_by: 'reeve release' })),
  }
}
