import { mkdir, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { Fault } from '@reeve/kit/fault.ts'
import { isMissing, readStateFile, writeStateFile } from '../../store/state-file.ts'
import { NetworkConfig } from './network-config.ts'
import type { Attachment } from './plugin-call.ts'
import { isPluginResult, type PluginResult } from './plugin-result.ts'

/** Attachment of an allocation and the result of its plug-ins. */
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

const RECORD_SUFFIX = '.json'

/**
 * One file per allocation. It contains the configuration that was used for ADD, because DEL must
 * run the same plug-ins even if the operator changed the configuration. Callers serialize writes
 * for one allocation.
 */
export class NetworkRecords {
  readonly #directory: string
  readonly #records = new Map<string, NetworkRecord>()

  constructor(directory: string) {
    this.#directory = directory
  }

  async load(): Promise<void> {
    const names = await readdir(this.#directory).catch((thrown: unknown) => {
      if (isMissing(thrown)) return []
      throw thrown
    })
    for (const name of names) {
      // Other files are remains of writes that a crash interrupted.
      if (name.startsWith('.') || !name.endsWith(RECORD_SUFFIX)) continue
      const id = name.slice(0, -RECORD_SUFFIX.length)
      this.#records.set(id, parseRecord(await readStateFile(this.#path(id)), this.#path(id)))
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
    return join(this.#directory, `${allocationId}${RECORD_SUFFIX}`)
  }
}

function parseRecord(stored: unknown, path: string): NetworkRecord {
  const isRecord = recordChecker.Check(stored)
  if (isRecord && stored.result === null) return { ...stored, result: null }
  if (isRecord && isPluginResult(stored.result)) return { ...stored, result: stored.result }
  throw new Fault('agent-state', `${path} is not what the agent writes`)
}
