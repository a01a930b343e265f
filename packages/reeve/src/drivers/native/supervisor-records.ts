import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { isMissing } from '../../agent/index.ts'
import { parseJsonObject, stringField, type LauncherResponse } from './launcher.ts'

/** Maximum size of a record of the helper. */
const RECORD_BYTES_MAX = 64 * 1024

/** A process, distinguished by its start time from a later one with the same PID. */
interface ProcessId {
  readonly pid: number
  readonly startTime: number
}

/** native/PROTOCOL.md, section 3: written by the shim when the task started. */
export interface HandleRecord {
  /** First process of an isolated task, otherwise the task itself. */
  readonly rootProcess: ProcessId
  readonly task: ProcessId
  readonly shim: ProcessId
  readonly bootId: string
  readonly isIsolated: boolean
  readonly cgroups: readonly string[]
  readonly killCgroup: string
}

/** Written by the shim when the task has ended. */
export interface ExitRecord {
  readonly code: number
  /** 0 unless a signal ended it. */
  readonly signal: number
  readonly isOomKilled: boolean
  /** Processes that survived SIGKILL. */
  readonly survivors: number
  readonly atMs: number
  readonly droppedLogBytes: number
}

/** Undefined if the record does not exist or is incomplete. */
export async function readHandleRecord(path: string): Promise<HandleRecord | undefined> {
  const value = await readRecordFile(path)
  return value === undefined ? undefined : parseHandleRecord(value)
}

export async function readExitRecord(path: string): Promise<ExitRecord | undefined> {
  const value = await readRecordFile(path)
  return value === undefined ? undefined : parseExitRecord(value)
}

function parseHandleRecord(value: LauncherResponse): HandleRecord | undefined {
  const processId = (pid: string, startTime: string): ProcessId => {
    return { pid: numberField(value, pid), startTime: numberField(value, startTime) }
  }
  const record = {
    rootProcess: processId('pid', 'startTime'),
    task: processId('taskPid', 'taskStartTime'),
    shim: processId('shimPid', 'shimStartTime'),
    bootId: stringField(value, 'bootId'),
    isIsolated: value['isolated'] === true,
    cgroups: stringList(value['cgroups']),
    killCgroup: stringField(value, 'killCgroup'),
  }
  const isComplete = [record.rootProcess, record.task, record.shim].every(({ pid }) => pid > 1)
  return isComplete && value['v'] === 1 ? record : undefined
}

function parseExitRecord(value: LauncherResponse): ExitRecord | undefined {
  if (value['v'] !== 1 || typeof value['code'] !== 'number') return undefined
  return {
    code: value['code'],
    signal: numberField(value, 'signal'),
    isOomKilled: value['oom'] === true,
    survivors: numberField(value, 'left'),
    atMs: numberField(value, 'atMs'),
    droppedLogBytes: numberField(value, 'logDropped'),
  }
}

function numberField(value: LauncherResponse, name: string): number {
  const found = value[name]
  return typeof found === 'number' && Number.isSafeInteger(found) ? found : 0
}

function stringList(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : []
  return list.filter((item) => typeof item === 'string')
}

async function readRecordFile(path: string): Promise<LauncherResponse | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(RECORD_BYTES_MAX), 0)
      return parseJsonObject(buffer.toString('utf8', 0, bytesRead))
    } finally {
      await file.close()
    }
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    throw thrown
  }
}
