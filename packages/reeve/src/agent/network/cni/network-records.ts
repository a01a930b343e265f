import { mkdir, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { Fault } from '@reeve/kit/fault.ts'
import { isMissing, readStateFile, writeStateFile } from '../../store/state-file.ts'
import { NetworkConfig } from './network-config.ts'
import type { Attachment } from './plugin-call.ts'
import { isPluginResult, type PluginResult } from './plugin-result.ts'

/** What was asked of plug-ins for an allocation, and what they answered. */
export interface NetworkRecord extends Attachment {
  /** Null until all plug-ins have succeeded. */
  readonly result: PluginResult | null
}

const recordChecker = Compile(
  Type.Object({
    network: NetworkConfig,
    args: Type.Record(Type.String(), Type.String()),
    ports: Type.Array(
      Type.Object({
        label: Type.String(),
        hostIp: Type.String(),
        hostPort: Type.Integer(),
        to: Type.Integer(),
      }),
    ),
    result: Type.Unknown(),
  }),
)

const SUFFIX = '.json'

/**
 * One file for each allocation. It holds the configuration as it was used: DEL must be asked of the
 * plug-ins that were asked for ADD, whatever the operator changed meanwhile. Writes for one
 * allocation are made one after the other by their caller.
 */
export class NetworkRecords {
  readonly #directory: string
  readonly #records = new Map<string, NetworkRecord>()

  constructor(directory: string) {
    this.#directory = directory
  }

  async open(): Promise<void> {
    const names = await readdir(this.#directory).catch((thrown: unknown) => {
      if (isMissing(thrown)) return []
      throw thrown
    })
    for (const name of names) {
      // Others are left from writes that a crash ended.
      if (name.startsWith('.') || !name.endsWith(SUFFIX)) continue
      const id = name.slice(0, -SUFFIX.length)
      this.#records.set(id, readRecord(await readStateFile(this.#path(id)), this.#path(id)))
    }
  }

  find(allocationId: string): NetworkRecord | undefined {
    return this.#records.get(allocationId)
  }

  async put(allocationId: string, record: NetworkRecord): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    this.#records.set(allocationId, record)
    await writeStateFile(this.#path(allocationId), JSON.stringify(record))
  }

  async delete(allocationId: string): Promise<void> {
    await unlink(this.#path(allocationId)).catch((thrown: unknown) => {
      if (!isMissing(thrown)) throw thrown
    })
    this.#records.delete(allocationId)
  }

  #path(allocationId: string): string {
    return join(this.#directory, `${allocationId}${SUFFIX}`)
  }
}

function readRecord(stored: unknown, path: string): NetworkRecord {
  const isKnown = recordChecker.Check(stored)
  if (isKnown && stored.result === null) return { ...stored, result: null }
  if (isKnown && isPluginResult(stored.result)) return { ...stored, result: stored.result }
  throw new Fault('agent-state', `${path} is not what the agent writes`)
}
