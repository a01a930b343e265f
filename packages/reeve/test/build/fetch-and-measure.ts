/**
 * A program of its own: fetches an archive as the agent does, and prints the most processor time
 * that one turn of its event loop took. The test runner follows every promise, which takes longer
 * than what is measured.
 */
import { join } from 'node:path'
import { fetchArtifact } from '../../src/agent/artifact/fetch-artifact.ts'

const [source = '', root = '', entries = ''] = process.argv.slice(2)
let longestMs = 0
let before = process.threadCpuUsage()

const timer = setInterval(() => {
  const now = process.threadCpuUsage()
  longestMs = Math.max(longestMs, (now.user + now.system - before.user - before.system) / 1_000)
  before = now
}, 5)
const size = 2 ** 30
await fetchArtifact(
  {
    source,
    options: null,
    headers: null,
    mode: 'any',
    insecure: false,
    destination: { root, parts: ['local'] },
    owner: undefined,
  },
  {
    staging: join(root, '.fetch'),
    settings: {
      allowsFiles: false,
      allowsLocal: true,
      timeoutMs: 600_000,
      entriesMax: Number(entries),
    },
    disk: { bytesMax: size, totalBytes: size, report: () => undefined, release: () => undefined },
    slot: 0,
    signal: new AbortController().signal,
  },
)
clearInterval(timer)
process.stdout.write(`${longestMs}\n`)
