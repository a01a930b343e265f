import type { NodeMeta } from '@reeve/contract'
import { LIMITS } from '../model/index.ts'
import { RemoteRefusal } from './remote/remote-refusal.ts'

type MetadataValues = Readonly<Record<string, string>>
type MetadataChanges = Readonly<Record<string, string | null>>

interface NodeMetadataOptions {
  /** Metadata of the configuration. */
  readonly configured: MetadataValues
  /** Stores the metadata that requests have set; durable when it resolves. */
  readonly store: (dynamic: MetadataChanges) => Promise<void>
  /** Called when the effective metadata has changed. */
  readonly onChange: () => void
}

/** Metadata of the node: configured by the operator, and overridden by requests. */
export class NodeMetadata {
  readonly #options: NodeMetadataOptions
  #dynamic: MetadataChanges = {}

  constructor(options: NodeMetadataOptions) {
    this.#options = options
  }

  /** Loads the metadata that the previous agent has stored. */
  restore(dynamic: MetadataChanges | undefined): void {
    this.#dynamic = dynamic ?? {}
  }

  /** The effective metadata. */
  effectiveValues(): MetadataValues {
    const entries = Object.entries({ ...this.#options.configured, ...this.#dynamic })
    return Object.fromEntries(
      entries.flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
    )
  }

  describe(): NodeMeta {
    return {
      Meta: this.effectiveValues(),
      Dynamic: this.#dynamic,
      Static: this.#options.configured,
    }
  }

  async apply(changes: MetadataChanges): Promise<NodeMeta> {
    const dynamic = mergeChanges(this.#dynamic, changes, this.#options.configured)
    rejectInvalidChanges(changes, Object.keys(dynamic).length)
    await this.#options.store(dynamic)
    this.#dynamic = dynamic
    this.#options.onChange()
    return this.describe()
  }
}

/** Merges the changes. Null deletes a dynamic value, and hides a configured one. */
function mergeChanges(
  dynamic: MetadataChanges,
  changes: MetadataChanges,
  configured: MetadataValues,
): MetadataChanges {
  const entries = Object.entries({ ...dynamic, ...changes })
  return Object.fromEntries(
    entries.filter(([name, value]) => value !== null || Object.hasOwn(configured, name)),
  )
}

/** The rules of the configuration: names without whitespace, values of one line. */
const METADATA_NAME = /^\S{1,128}$/
const METADATA_VALUE = /^[^\p{Cc}]{0,4096}$/u

function rejectInvalidChanges(changes: MetadataChanges, count: number): void {
  for (const [name, value] of Object.entries(changes)) {
    if (!METADATA_NAME.test(name))
      throw new RemoteRefusal(400, 'a name of metadata has 1 to 128 characters and no spaces')
    if (value !== null && !METADATA_VALUE.test(value))
      throw new RemoteRefusal(
        400,
        `metadata ${name}: a value is one line of at most 4096 characters`,
      )
  }
  if (count > LIMITS.nodeMetaMax)
    throw new RemoteRefusal(400, `a node has at most ${LIMITS.nodeMetaMax} values of metadata`)
}
