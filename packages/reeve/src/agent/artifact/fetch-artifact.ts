import { chown, lstat, mkdir, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { Beneath, partsBelow, type Owner } from '../store/beneath.ts'
import { removeTree } from '../store/remove-tree.ts'
import type { PlaceBelow } from '../store/task-place.ts'
import type { DiskShare } from './allocation-disk.ts'
import { MINIMAL_ENV } from './compression.ts'
import { runFetcher } from './fetcher-process.ts'
import { fetcherUser } from './fetcher-user.ts'
import { artifactFault, parseSource, type ArtifactSource } from './source.ts'
import { TREE } from './stage-artifact.ts'
import { adoptTree, mergeTree, moveFile } from './staged-tree.ts'
import { archiveFault } from './unpack.ts'

/** One artifact of a task, with every reference resolved. */
export interface ArtifactRequest {
  readonly source: string
  readonly options: Readonly<Record<string, string>> | null
  readonly headers: Readonly<Record<string, string>> | null
  readonly mode: string
  readonly insecure: boolean
  readonly destination: PlaceBelow
  /** Gets the files; undefined: they belong to the agent's user. */
  readonly owner: Owner | undefined
}

/** The operator's rules for artifacts: the block `client.artifact` of the configuration. */
export interface ArtifactSettings {
  /** Whether files of this machine may be fetched. */
  readonly allowsFiles: boolean
  /** Whether loopback, link-local and unspecified addresses may be reached. */
  readonly allowsLocal: boolean
  /** How long one artifact may take. */
  readonly timeoutMs: number
  /** Files, directories and links of one artifact. */
  readonly entriesMax: number
}

export interface FetchContext {
  /** A new directory of this name is created and removed; best on the disk of the destination. */
  readonly staging: string
  readonly settings: ArtifactSettings
  readonly disk: DiskShare
  /** Tells apart the fetches of this agent that run at the same time. */
  readonly slot: number
  readonly signal: AbortSignal
  /** Where programs such as git are found; the usual directories unless given. */
  readonly searchPath?: string
}

/**
 * Fetches one artifact: a process without the agent's rights downloads and unpacks it in a staging
 * directory, and the agent takes over the result and moves it to the task's directory. Fault
 * `task-artifact` names the source and what failed.
 */
export async function fetchArtifact(
  request: ArtifactRequest,
  context: FetchContext,
): Promise<void> {
  try {
    await fetchAndDeliver(request, context)
  } catch (thrown) {
    throw artifactFault(request.source, thrown)
  }
}

async function fetchAndDeliver(request: ArtifactRequest, context: FetchContext): Promise<void> {
  const { staging, settings, disk, signal } = context
  const { bytesMax, totalBytes } = disk
  const { entriesMax } = settings
  signal.throwIfAborted()
  const source = parseSource(request.source, request.options)
  const user = await fetcherUser(source, context.slot)
  await createStaging(staging, user)
  try {
    const isFile = await runFetcher(
      {
        source,
        headers: request.headers ?? {},
        mode: request.mode,
        insecure: request.insecure,
        allowsFiles: settings.allowsFiles,
        allowsLocal: settings.allowsLocal,
        limits: { bytesMax, totalBytes, entriesMax },
        searchPath: context.searchPath ?? MINIMAL_ENV.PATH,
      },
      { directory: staging, user, used: (bytes) => disk.used(bytes), signal },
    )
    const own = agentUser()
    const tree = join(staging, TREE)
    await adoptTree(tree, { from: user?.uid ?? own.uid, to: request.owner ?? own, entriesMax })
    await deliver({ request, source, tree }, isFile)
  } finally {
    await removeTree(staging)
  }
}

function agentUser(): Owner {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
}

/** An agent that was killed during a fetch may have left one. */
async function createStaging(path: string, user: Owner | undefined): Promise<void> {
  await removeTree(path)
  await mkdir(path, { mode: 0o700 })
  if (user !== undefined) await chown(path, user.uid, user.gid)
}

interface Delivery {
  readonly request: ArtifactRequest
  readonly source: ArtifactSource
  /** What was fetched, and belongs to its owner already. */
  readonly tree: string
}

/** Moves the artifact to its destination in the task's directory. */
async function deliver(work: Delivery, isFile: boolean): Promise<void> {
  const { request } = work
  const { destination, owner } = request
  const from = await wantedPart(work)
  const root = await Beneath.open(destination.root)
  const make = { mode: 0o755, owner }
  try {
    if (request.mode !== 'file') {
      const { parts } = destination
      await root.within({ parts, make }, (target) => mergeTree(from, target, owner))
      return
    }
    const [only, other] = await firstTwo(from)
    const name = destination.parts.at(-1)
    if (only === undefined || other !== undefined || name === undefined) {
      throw archiveFault(isFile ? 'the destination is no file' : 'one file is wanted, not several')
    }
    if (!(await lstat(join(from, only))).isFile())
      throw archiveFault(`one file is wanted, and ${JSON.stringify(only)} is none`)
    const parts = destination.parts.slice(0, -1)
    await root.within({ parts, make }, (parent) => moveFile(join(from, only), parent, name))
  } finally {
    await root.close()
  }
}

/** Names of a directory, as many as it takes to know whether it holds one: it may be large. */
async function firstTwo(path: string): Promise<readonly string[]> {
  const names: string[] = []
  for await (const { name } of await opendir(path)) {
    names.push(name)
    if (names.length === 2) break
  }
  return names
}

async function wantedPart({ source, tree }: Delivery): Promise<string> {
  if (source.subdirectory === '') return tree
  const parts = partsBelow(source.subdirectory)
  if (parts === undefined) throw archiveFault(`${JSON.stringify(source.subdirectory)} leads out`)
  // Checked part by part, so that a link of the archive is not followed.
  const root = await Beneath.open(tree)
  try {
    await (await root.directory(parts)).close()
  } finally {
    await root.close()
  }
  return join(tree, ...parts)
}
