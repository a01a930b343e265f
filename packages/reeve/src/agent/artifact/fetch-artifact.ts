import { constants, type Stats } from 'node:fs'
import {
  chown,
  copyFile,
  lchown,
  lstat,
  mkdir,
  open,
  opendir,
  readlink,
  rename,
  symlink,
  unlink,
} from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import {
  SafeDirectory,
  containedPathParts,
  type Owner,
  removeTree,
} from '../store/safe-directory.ts'
import { errorCode } from '../store/state-file.ts'
import type { ContainedPath } from '../store/workspace.ts'
import { type DiskReservation, tooManyEntriesFault } from './disk-budget.ts'
import { MINIMAL_ENV } from './compression.ts'
import { runFetcher } from './fetcher-process.ts'
import { chooseFetcherUser } from './fetcher-user.ts'
import { artifactFault, parseArtifactSource, type ArtifactSource } from './source.ts'
import { TREE_DIR } from './stage-artifact.ts'
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

interface AdoptOptions {
  /** User that must own all entries. */
  readonly fetcherUid: number
  /** New user and group of all entries. */
  readonly newOwner: Owner
  readonly entriesMax: number
}

/**
 * Takes over a tree that a fetcher wrote. The fetcher is not trusted: only its own files,
 * directories and links that stay inside pass, and no file keeps set-user-ID or group-write bits.
 * Every path goes through an open directory, so that nothing planted is followed.
 */
export async function adoptTree(root: string, adoption: AdoptOptions): Promise<void> {
  const rootDirectory = await SafeDirectory.open(root)
  try {
    await adoptEntries(rootDirectory, {
      ...adoption,
      depth: 0,
      remainingEntries: { count: adoption.entriesMax },
    })
  } finally {
    await rootDirectory.close()
  }
}

interface AdoptLevel extends AdoptOptions {
  readonly depth: number
  /** Shared by all levels of the recursion. */
  readonly remainingEntries: { count: number }
}

async function adoptEntries(directory: SafeDirectory, level: AdoptLevel): Promise<void> {
  const { remainingEntries, depth } = level
  if (depth > AGENT_LIMITS.artifactDepthMax) {
    throw archiveFault(`its directories are more than ${AGENT_LIMITS.artifactDepthMax} deep`)
  }
  // Iterated in batches: one directory may hold all entries.
  for await (const { name } of await opendir(directory.pathOf('.'))) {
    remainingEntries.count -= 1
    if (remainingEntries.count < 0) throw tooManyEntriesFault(level.entriesMax)
    const stats = await lstat(directory.pathOf(name))
    if (stats.uid !== level.fetcherUid)
      throw archiveFault(`${JSON.stringify(name)} has another owner`)
    await adoptEntry(directory, { name, stats }, level)
  }
}

async function adoptEntry(
  directory: SafeDirectory,
  { name, stats }: { readonly name: string; readonly stats: Stats },
  level: AdoptLevel,
): Promise<void> {
  const path = directory.pathOf(name)
  const { uid, gid } = level.newOwner
  if (stats.isDirectory()) {
    await directory.withSubdirectory({ parts: [name] }, (inner) =>
      adoptEntries(inner, { ...level, depth: level.depth + 1 }),
    )
  } else if (stats.isSymbolicLink()) {
    if (escapesTree(await readlink(path), level.depth)) throw notDeliverableFault(name)
  } else if (!stats.isFile()) throw notDeliverableFault(name)
  if (stats.uid !== uid || stats.gid !== gid) await lchown(path, uid, gid)
  if (!stats.isSymbolicLink() && (stats.mode & FORBIDDEN_BITS) !== 0) {
    await restrictMode(path, stats.mode & ~FORBIDDEN_BITS)
  }
}

/** Set-user-ID, set-group-ID, sticky, and writable for group and others. */
const FORBIDDEN_BITS = 0o7022

async function restrictMode(path: string, mode: number): Promise<void> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    await file.chmod(mode & 0o777)
  } finally {
    await file.close()
  }
}

function notDeliverableFault(name: string): Fault {
  return archiveFault(`${JSON.stringify(name)} is not a file, or a link that leads out`)
}

function escapesTree(target: string, depth: number): boolean {
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const firstNamed = parts.findIndex((part) => part !== '..')
  const parentCount = firstNamed < 0 ? parts.length : firstNamed
  return target.startsWith('/') || parentCount > depth || parts.slice(parentCount).includes('..')
}

/**
 * Moves everything of a staged directory to its destination. Directories that exist there are
 * merged, files are replaced; a link or a file in the place of a directory is a Fault.
 */
async function mergeTree(
  from: string,
  target: SafeDirectory,
  owner: Owner | undefined,
): Promise<void> {
  for await (const entry of await opendir(from)) {
    const path = join(from, entry.name)
    if (!entry.isDirectory()) await moveFile(path, target, entry.name)
    else if (!(await moveNewDirectory(path, target, entry.name))) {
      const parts = [entry.name]
      const createOptions = { mode: 0o755, owner }
      await target.withSubdirectory({ parts, make: createOptions }, (inner) =>
        mergeTree(path, inner, owner),
      )
    }
  }
}

/** Moves a directory as a whole if its name is free: one call instead of one per file. */
async function moveNewDirectory(
  from: string,
  target: SafeDirectory,
  name: string,
): Promise<boolean> {
  const isTaken = await lstat(target.pathOf(name)).then(
    () => true,
    (thrown: unknown) => {
      if (errorCode(thrown) === 'ENOENT') return false
      throw thrown
    },
  )
  if (isTaken) return false
  try {
    await rename(from, target.pathOf(name))
    return true
  } catch (thrown) {
    const code = errorCode(thrown)
    // Different file system, or the name was taken meanwhile.
    if (code === 'EXDEV' || code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR') {
      return false
    }
    throw thrown
  }
}

/** Replaces an existing entry without following it. Works across file systems. */
async function moveFile(from: string, target: SafeDirectory, name: string): Promise<void> {
  try {
    await rename(from, target.pathOf(name))
  } catch (thrown) {
    if (errorCode(thrown) === 'EISDIR') {
      throw new Fault('task-artifact', `${JSON.stringify(name)} is a directory already`)
    }
    if (errorCode(thrown) !== 'EXDEV') throw thrown
    await replaceByCopy(from, target, name)
  }
}

async function replaceByCopy(from: string, target: SafeDirectory, name: string): Promise<void> {
  const temporary = `.${name.slice(0, 64)}.reeve-new`
  const stat = await lstat(from)
  await unlink(target.pathOf(temporary)).catch((thrown: unknown) => {
    if (errorCode(thrown) !== 'ENOENT') throw thrown
  })
  if (stat.isSymbolicLink()) await symlink(await readlink(from), target.pathOf(temporary))
  else await copyFile(from, target.pathOf(temporary), constants.COPYFILE_EXCL)
  await lchown(target.pathOf(temporary), stat.uid, stat.gid)
  await rename(target.pathOf(temporary), target.pathOf(name))
}
