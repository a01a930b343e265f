/**
 * Memory of a server per row of its state and per reader of an event stream: the figures of
 * docs/how-to/size-a-cluster.md. `npm run bench -- sizing [--quick]`
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newSummary } from '../src/model/index.ts'
import { put, Store, type Change } from '../src/state/index.ts'
import { systemClock as clock } from '../src/main/system.ts'
import { openEmbeddedEngine } from '../src/storage/index.ts'
import { anEvaluation } from '../test/build/evaluation.ts'
import { aJob } from '../test/build/job.ts'
import { aNode } from '../test/build/node.ts'
import { anAllocationRow } from './allocation-rows.ts'
import { isQuick, livingBytes, printTable, whole } from './measure.ts'
import { startProgram } from './program.ts'
import { StreamReader } from './stream-reader.ts'

const ROWS = isQuick ? 5_000 : 50_000
const ROWS_PER_COMMIT = 500
const READERS = isQuick ? 500 : 2_000
const VARIABLE_CHARS = 1_000
/** A stream without history, which would fill the readers' buffers. */
const LIVE_STREAM = '/v1/event/stream?index=1000000000'

/** The rows of one object of each kind: a job also has versions and a summary. */
const KINDS: readonly (readonly [name: string, rows: (at: number) => readonly Change[]])[] = [
  ['job', (at) => jobRows(at)],
  ['allocation', (at) => [put('allocations', anAllocationRow(at))]],
  ['evaluation', (at) => [put('evaluations', { ...anEvaluation(aJob()), ID: id(at) })]],
  ['node', (at) => [put('nodes', { ...aNode(), SecretHash: 'hash', ID: id(at) })]],
  ['variable of 1,000 characters', (at) => [put('variables', variableRow(at))]],
]

const home = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
try {
  const lines: string[][] = []
  for (const [name, rows] of KINDS) lines.push([name, whole(await bytesOf(name, rows))])
  lines.push(['reader of an event stream', whole(await bytesOfReader())])
  printTable(['each', 'bytes'], lines)
} finally {
  await rm(home, { recursive: true })
}

async function bytesOf(name: string, rows: (at: number) => readonly Change[]): Promise<number> {
  const engine = await openEmbeddedEngine(join(home, name.replaceAll(' ', '-')))
  const store = await Store.open({ engine, clock })
  const before = livingBytes()
  for (let at = 0; at < ROWS; at += ROWS_PER_COMMIT) {
    const changes = Array.from({ length: ROWS_PER_COMMIT }, (_, i) => rows(at + i)).flat()
    await store.commit({ by: 'system', cause: undefined, changes: () => changes }).durable
  }
  const bytes = (livingBytes() - before) / ROWS
  await store.close()
  return bytes
}

/** Sockets are outside of the heap, so resident memory is measured. */
async function bytesOfReader(): Promise<number> {
  const program = await startProgram({ directory: join(home, 'program') })
  const readers: StreamReader[] = []
  const open = async (count: number): Promise<number> => {
    for (let at = 0; at < count; at++)
      readers.push(await StreamReader.open({ port: program.port, path: LIVE_STREAM }))
    return await program.metric('process_resident_memory_bytes')
  }
  const before = await open(0)
  const after = await open(READERS)
  for (const reader of readers) reader.close()
  await program.stop()
  return (after - before) / READERS
}

function jobRows(at: number): readonly Change[] {
  const job = aJob({ ID: `job-${id(at)}` })
  return [put('jobs', job), put('job_versions', job), put('job_summaries', newSummary(job))]
}

function variableRow(at: number) {
  return {
    Namespace: 'default',
    Path: `team/app-${at}`,
    SealedItems: randomBytes((VARIABLE_CHARS * 3) / 4).toString('base64'),
    Lock: null,
    CreateIndex: 0,
    CreateTime: 0,
    ModifyIndex: 0,
    ModifyTime: 0,
  }
}

function id(at: number): string {
  return `${randomBytes(4).toString('hex')}-0000-4000-8000-${String(at).padStart(12, '0')}`
}
