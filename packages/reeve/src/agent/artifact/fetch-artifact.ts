import { chown, lstat, mkdir, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  SafeDirectory,
  containedPathParts,
  type Owner,
  removeTree,
} from '../store/safe-directory.ts'
import type { ContainedPath } from '../store/workspace.ts'
import type { DiskReservation } from './disk-budget.ts'
import { MINIMAL_ENV } from './compression.ts'
import { runFetcher } from './fetcher-process.ts'
import { chooseFetcherUser } from './fetcher-user.ts'
import { artifactFault, parseArtifactSource, type ArtifactSource } from './source.ts'
import { TREE_DIR } from './stage-artifact.ts'
import { adoptTree, mergeTree, moveFile } from './staged-tree.ts'
import { archiveFault } from './unpack.ts'

/** One artifact of a task, with every reference resolved. */
export interface ArtifactRequest {
  readonly source: string
  readonly options: Readonly<Record<string, string>> | null
  readonly headers: Readonly<Record<string, string>> | null
  readonly mode: string
  readonly insecure: boolean
  readonly destination: ContainedPath
  /** Owner of the files; undefined: the agent's user. */
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
  readonly disk: DiskReservation
  /** Distinguishes parallel fetches of this agent. */
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
  const source = parseArtifactSource(request.source, request.options)
  const user = await chooseFetcherUser(source, context.slot)
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
      { stagingDir: staging, user, onDiskUsage: (bytes) => disk.report(bytes), signal },
    )
    const own = agentOwner()
    const tree = join(staging, TREE_DIR)
    await adoptTree(tree, {
      fetcherUid: user?.uid ?? own.uid,
      newOwner: request.owner ?? own,
      entriesMax,
    })
    await deliver({ request, source, tree }, isFile)
  } finally {
    await removeTree(staging)
  }
}

function agentOwner(): Owner {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
}

/** Removes the remains of an agent that was killed during a fetch. */
async function createStaging(path: string, user: Owner | undefined): Promise<void> {
  await removeTree(path)
  await mkdir(path, { mode: 0o700 })
  if (user !== undefined) await chown(path, user.uid, user.gid)
}

interface Delivery {
  readonly request: ArtifactRequest
  readonly source: ArtifactSource
  /** The fetched tree, already adopted by its owner. */
  readonly tree: string
}

/** Moves the artifact to its destination in the task's directory. */
async function deliver(delivery: Delivery, isFile: boolean): Promise<void> {
  const { request } = delivery
  const { destination, owner } = request
  const from = await requestedPart(delivery)
  const root = await SafeDirectory.open(destination.root)
  const createOptions = { mode: 0o755, owner }
  try {
    if (request.mode !== 'file') {
      const { parts } = destination
      await root.withSubdirectory({ parts, make: createOptions }, (target) =>
        mergeTree(from, target, owner),
      )
      return
    }
    const [onlyName, secondName] = await firstTwoNames(from)
    const name = destination.parts.at(-1)
    if (onlyName === undefined || secondName !== undefined || name === undefined) {
      throw archiveFault(isFile ? 'the destination is no file' : 'one file is wanted, not several')
    }
    if (!(await lstat(join(from, onlyName))).isFile())
      throw archiveFault(`one file is wanted, and ${JSON.stringify(onlyName)} is none`)
    const parts = destination.parts.slice(0, -1)
    await root.withSubdirectory({ parts, make: createOptions }, (parent) =>
      moveFile(join(from, onlyName), parent, name),
    )
  } finally {
    await root.close()
  }
}

/** The first two names of a directory, enough to tell whether it holds exactly one. */
async function firstTwoNames(path: string): Promise<readonly string[]> {
  const names: string[] = []
  for await (const { name } of await opendir(path)) {
    names.push(name)
    if (names.length === 2) break
  }
  return names
}

async function requestedPart({ source, tree }: Delivery): Promise<string> {
  if (source.subdirectory === '') return tree
  const parts = containedPathParts(source.subdirectory)
  if (parts === undefined) throw archiveFault(`${JSON.stringify(source.subdirectory)} leads out`)
  // Checked part by part, so that a link of the archive is not followed.
  const root = await SafeDirectory.open(tree)
  try {
    await (await root.openSubdirectory(parts)).close()
  } finally {
    await root.close()
  }
  return join(tree, ...parts)
}
