import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { isMissing } from '../../agent/index.ts'
import { parseObject, text, type LauncherAnswer } from './launcher.ts'

/** Nothing the helper writes is longer. */
const RECORD_BYTES_MAX = 64 * 1024

/** One process, told from a later one with the same number by when it began. */
interface ProcessRef {
  readonly pid: number
  readonly startTime: number
}

/** native/PROTOCOL.md, section 3: what the shim wrote down when the task began. */
export interface HandleRecord {
  /** The first process of an isolated task, else the task. */
  readonly entry: ProcessRef
  readonly task: ProcessRef
  readonly shim: ProcessRef
  readonly bootId: string
  readonly isIsolated: boolean
  readonly cgroups: readonly string[]
  readonly killCgroup: string
}

/** What it wrote down when the task had ended. */
export interface ExitRecord {
  readonly code: number
  /** 0 unless a signal ended it. */
  readonly signal: number
  readonly isOom: boolean
  /** Processes that survived even force. */
  readonly left: number
  readonly atMs: number
  readonly logDropped: number
}

/** Undefined when it is not there, or not whole. */
export async function readHandle(path: string): Promise<HandleRecord | undefined> {
  const value = await readRecord(path)
  return value === undefined ? undefined : parseHandle(value)
}

export async function readExit(path: string): Promise<ExitRecord | undefined> {
  const value = await readRecord(path)
  return value === undefined ? undefined : parseExit(value)
}

function parseHandle(value: LauncherAnswer): HandleRecord | undefined {
  const ref = (pid: string, startTime: string): ProcessRef => {
    return { pid: number(value, pid), startTime: number(value, startTime) }
  }
  const record = {
    entry: ref('pid', 'startTime'),
    task: ref('taskPid', 'taskStartTime'),
    shim: ref('shimPid', 'shimStartTime'),
    bootId: text(value, 'bootId'),
    isIsolated: value['isolated'] === true,
    cgroups: texts(value['cgroups']),
    killCgroup: text(value, 'killCgroup'),
  }
  const isWhole = [record.entry, record.task, record.shim].every(({ pid }) => pid > 1)
  return isWhole && value['v'] === 1 ? record : undefined
}

function parseExit(value: LauncherAnswer): ExitRecord | undefined {
  if (value['v'] !== 1 || typeof value['code'] !== 'number') return undefined
  return {
    code: value['code'],
    signal: number(value, 'signal'),
    isOom: value['oom'] === true,
    left: number(value, 'left'),
    atMs: number(value, 'atMs'),
    logDropped: number(value, 'logDropped'),
  }
}

function number(value: LauncherAnswer, name: string): number {
  const found = value[name]
  return typeof found === 'number' && Number.isSafeInteger(found) ? found : 0
}

function texts(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : []
  return list.filter((one) => typeof one === 'string')
}

async function readRecord(path: string): Promise<LauncherAnswer | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(RECORD_BYTES_MAX), 0)
      return parseObject(buffer.toString('utf8', 0, bytesRead))
    } finally {
      await file.close()
    }
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    throw thrown
  }
}
