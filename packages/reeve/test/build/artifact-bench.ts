import { once } from 'node:events'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { DiskReservation } from '../../src/agent/artifact/disk-budget.ts'
import {
  fetchArtifact,
  type ArtifactRequest,
  type ArtifactSettings,
  type FetchContext,
} from '../../src/agent/artifact/fetch-artifact.ts'
import { atEnd } from './at-end.ts'
import { temporaryDirectory } from './temporary-directory.ts'

export type ServedFiles = Readonly<Record<string, Buffer | ((response: ServerResponse) => void)>>

export interface FileServer {
  readonly url: string
  /** The same server by another host or address. */
  readonly urlAt: (host: string) => string
  readonly headers: IncomingHttpHeaders[]
}

/** Serves files by path; `/to?ADDRESS` redirects. On every address of the machine. */
export async function serveFiles(t: TestContext, files: ServedFiles): Promise<FileServer> {
  const headers: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    headers.push(request.headers)
    const path = request.url ?? ''
    const file = files[path]
    if (path.startsWith('/to?')) response.writeHead(302, { location: path.slice(4) }).end()
    else if (file === undefined) response.writeHead(404).end()
    else if (typeof file === 'function') file(response)
    else response.end(file)
  })
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  atEnd(t, () => {
    server.close()
    server.closeAllConnections()
    return Promise.resolve()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const urlAt = (host: string): string => `http://${host}:${port}`
  return { url: urlAt('127.0.0.1'), urlAt, headers }
}

/** An address of this machine that is not local to it; undefined where it has no network. */
export function outerAddress(): string | undefined {
  return Object.values(networkInterfaces())
    .flat()
    .find((found) => found?.family === 'IPv4' && !found.internal)?.address
}

export interface BenchChanges extends Partial<Pick<FetchContext, 'signal' | 'searchPath'>> {
  readonly settings?: Partial<ArtifactSettings>
  readonly disk?: Partial<DiskReservation>
}

export interface ArtifactBench {
  /** Holds the staging directory during a fetch, and the task's. */
  readonly root: string
  readonly taskDir: string
  fetch(fields: Partial<ArtifactRequest>, changes?: BenchChanges): Promise<void>
  read(path: string): Promise<string>
  /** A directory with one program, first in the search path of fetches. */
  program(name: string, script: string): Promise<string>
}

const SETTINGS: ArtifactSettings = {
  allowsFiles: false,
  allowsLocal: true,
  timeoutMs: 60_000,
  entriesMax: 1_000,
}

const DISK: DiskReservation = {
  bytesMax: 2 ** 30,
  totalBytes: 2 ** 30,
  report: () => undefined,
  release: () => undefined,
}

/** Fetches into the directory of a task, as the agent does. */
export async function anArtifactBench(
  t: TestContext,
  always: Partial<ArtifactSettings> = {},
): Promise<ArtifactBench> {
  const root = await temporaryDirectory(t)
  // As the directories of allocations are: git uses absolute paths.
  await chmod(root, 0o711)
  const taskDir = join(root, 'task')
  await mkdir(join(taskDir, 'local'), { recursive: true })
  const request = (fields: Partial<ArtifactRequest>): ArtifactRequest => ({
    source: '',
    options: null,
    headers: null,
    mode: 'any',
    insecure: false,
    destination: { root: taskDir, parts: ['local'] },
    owner: undefined,
    ...fields,
  })
  return {
    root,
    taskDir,
    fetch: (fields, { settings, disk, ...context } = {}) =>
      fetchArtifact(request(fields), {
        staging: join(root, '.fetch'),
        settings: { ...SETTINGS, ...always, ...settings },
        disk: { ...DISK, ...disk },
        slot: 0,
        signal: new AbortController().signal,
        ...context,
      }),
    read: (path) => readFile(join(taskDir, path), 'utf8'),
    async program(name, script) {
      const directory = join(root, 'bin')
      await mkdir(directory, { recursive: true })
      await chmod(directory, 0o755)
      await writeFile(join(directory, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
      return `${directory}:/usr/bin:/bin`
    },
  }
}
