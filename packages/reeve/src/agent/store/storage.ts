import { constants } from 'node:fs'
import { access, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { VolumeOnNode } from '@reeve/contract'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { IdSource } from '@reeve/kit/clock.ts'
import { assert, Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { KeptVolume } from '../volumes/dynamic-volumes.ts'
import { lockAgentDirectory, type AgentLock } from './agent-lock.ts'
import { DiskStore } from './disk-store.ts'
import { isMissing, readStateFile, writeStateFile } from './state-file.ts'
import { MemoryStore, type AgentStore } from './store.ts'
import { DiskWorkspace, PathsOnlyWorkspace, type Workspace } from './workspace.ts'

/** Where an agent keeps what it must not lose, and where its tasks work. */
export interface AgentStorage {
  readonly store: AgentStore
  readonly workspace: Workspace
  /** Below this the drivers keep their records. */
  readonly recordsDir: string
  /** Locks the storage for this agent. Fault `agent-locked` while another one has it. */
  open(ids: IdSource): Promise<StorageIdentity>
  /** Only while it is open. */
  keepRegion(region: string): Promise<void>
  /** Replaces the secret of the node; durable when it resolves. Only while it is open. */
  keepSecret(secret: string): Promise<void>
  /** Replaces what requests have set of the node's metadata. Only while it is open. */
  keepMeta(meta: NonNullable<KeptIdentity['meta']>): Promise<void>
  /** Replaces the dynamic volumes of the node. Only while it is open. */
  keepVolumes(volumes: NonNullable<KeptIdentity['volumes']>): Promise<void>
  /** Removes the drivers' records of starts that are over. */
  sweepRecords(keep: ReadonlySet<string>): Promise<void>
  close(): Promise<void>
}

interface KeptIdentity {
  /** Made at the first start and the same ever after. */
  readonly nodeId: string
  readonly secret: string
  /** Of the servers that have let the node in. */
  readonly region?: string
  /** What requests have set of the node's metadata; null hides a value of the configuration. */
  readonly meta?: Readonly<Record<string, string | null>>
  /** Those that requests have made or registered. */
  readonly volumes?: readonly KeptVolume[]
}

export interface StorageIdentity extends KeptIdentity {
  /** The current boot of the machine. */
  readonly bootId: string
  /** Why secrets are on the disk, where they should not be. */
  readonly secretsComplaint?: string
}

interface DiskStorageOptions {
  /** Needs the right to mount; where that is missing they are kept on the disk. */
  readonly keepsSecretsInMemory?: boolean
}

/** Everything below one directory: `agent/` the agent's own, `alloc/` the tasks'. */
export function diskStorage(dataDir: string, options: DiskStorageOptions = {}): AgentStorage {
  const own = join(dataDir, 'agent')
  const recordsDir = join(own, 'tasks')
  const allocations = join(own, 'allocations')
  const workspace = new DiskWorkspace(join(dataDir, 'alloc'))
  const identityPath = join(own, 'node.json')
  let lock: AgentLock | undefined
  let kept: KeptIdentity | undefined
  let writing: Promise<void> = Promise.resolve()
  /** One write after the other: each builds on the one before it. */
  const changeIdentity = (change: Partial<KeptIdentity>): Promise<void> => {
    const write = async (): Promise<void> => {
      assert(kept !== undefined, 'a storage is opened before anything is kept in it')
      const changed = { ...kept, ...change }
      await saveIdentity(identityPath, changed)
      kept = changed
    }
    writing = writing.then(write, write)
    return writing
  }
  return {
    store: new DiskStore(allocations),
    workspace,
    recordsDir,
    async open(ids) {
      // Passable but not listable: a task that runs as another user must reach its own directory
      // below.
      for (const path of [own, recordsDir]) await mkdir(path, { recursive: true, mode: 0o711 })
      // Asked for by itself: making a directory on a read-only disk says that something is missing.
      await access(own, constants.W_OK)
      lock = await lockAgentDirectory(own)
      try {
        await mkdir(allocations, { recursive: true, mode: 0o700 })
        const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
        kept = await loadIdentity(identityPath, { ids, allocations })
        const identity = { ...kept, bootId }
        if (options.keepsSecretsInMemory !== true) return identity
        const secretsComplaint = await workspace.keepSecretsInMemory()
        return secretsComplaint === undefined ? identity : { ...identity, secretsComplaint }
      } catch (thrown) {
        lock.release()
        lock = undefined
        throw thrown
      }
    },
    keepRegion: (region) => changeIdentity({ region }),
    keepSecret: (secret) => changeIdentity({ secret }),
    keepMeta: (meta) => changeIdentity({ meta }),
    keepVolumes: (volumes) => changeIdentity({ volumes }),
    async sweepRecords(keep) {
      for (const name of await namesIn(recordsDir)) {
        const path = join(recordsDir, name)
        if (!keep.has(path)) await rm(path, { recursive: true, force: true })
      }
    },
    close() {
      lock?.release()
      lock = undefined
      return Promise.resolve()
    },
  }
}

/** Nothing on a disk: for tests and simulated agents. */
export function memoryStorage(identity: StorageIdentity): AgentStorage {
  let kept = identity
  return {
    store: new MemoryStore(),
    workspace: new PathsOnlyWorkspace(),
    recordsDir: '/nowhere/tasks',
    open: () => Promise.resolve(kept),
    keepRegion: (region) => {
      kept = { ...kept, region }
      return Promise.resolve()
    },
    keepSecret: (secret) => {
      kept = { ...kept, secret }
      return Promise.resolve()
    },
    keepMeta: (meta) => {
      kept = { ...kept, meta }
      return Promise.resolve()
    },
    keepVolumes: (volumes) => {
      kept = { ...kept, volumes }
      return Promise.resolve()
    },
    sweepRecords: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
}

/** Format of the identity file; agents reject newer ones. */
const IDENTITY_VERSION = 1

const identityFile = Compile(
  Type.Object({
    v: Type.Literal(IDENTITY_VERSION),
    nodeId: Type.String(),
    secret: Type.String(),
    region: Type.Optional(Type.String()),
    meta: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Null()]))),
    volumes: Type.Optional(
      Type.Array(Type.Object({ ...VolumeOnNode.properties, bytes: Type.Integer() })),
    ),
  }),
)

interface FirstStart {
  readonly ids: IdSource
  /** Where there are none yet at the first start. */
  readonly allocations: string
}

/**
 * A new identity would orphan everything that the servers know of this node, and end what runs
 * here: a bad file is not replaced, nor one that is missing where the node has run before.
 */
async function loadIdentity(path: string, { ids, allocations }: FirstStart): Promise<KeptIdentity> {
  const file = await readStateFile(path).catch((thrown: unknown) => {
    throw new Fault('agent-state', `${errorMessage(thrown)}. ${afresh(path, allocations)}`, {
      cause: thrown,
    })
  })
  if (file === undefined) {
    if ((await namesIn(allocations)).length > 0)
      throw new Fault('agent-state', `${path} is missing. ${afresh(path, allocations)}`)
    const made = { nodeId: ids.uuid(), secret: ids.uuid() }
    await saveIdentity(path, made)
    return made
  }
  if (versionIn(file) > IDENTITY_VERSION)
    throw new Fault(
      'agent-state',
      `${path} has format ${versionIn(file)}, and this agent reads format ${IDENTITY_VERSION}. ` +
        'A newer Reeve wrote it: start that version. Nothing was changed.',
    )
  if (!identityFile.Check(file))
    throw new Fault(
      'agent-state',
      `cannot use ${path}: not an identity. ${afresh(path, allocations)}`,
    )
  const { v: _, ...identity } = file
  return identity
}

function versionIn(file: unknown): number {
  const isVersioned = typeof file === 'object' && file !== null && 'v' in file
  return isVersioned && typeof file.v === 'number' ? file.v : 0
}

function afresh(path: string, allocations: string): string {
  return (
    'Nothing was changed. Put the file back from a backup; or, to begin as a new node, remove ' +
    `${path} and ${allocations}: what runs here is ended then, and begins again where the ` +
    'servers want it once they have given up the old node.'
  )
}

async function saveIdentity(path: string, identity: KeptIdentity): Promise<void> {
  await writeStateFile(path, JSON.stringify({ v: IDENTITY_VERSION, ...identity }))
}

async function namesIn(path: string): Promise<readonly string[]> {
  return readdir(path).catch((thrown: unknown) => {
    if (isMissing(thrown)) return []
    throw thrown
  })
}
