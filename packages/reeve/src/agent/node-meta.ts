import type { NodeMeta } from '@reeve/contract'
import { LIMITS } from '../model/index.ts'
import { RemoteRefusal } from './remote/remote-refusal.ts'

type Values = Readonly<Record<string, string>>
type Changes = Readonly<Record<string, string | null>>

interface NodeMetadataOptions {
  /** From the configuration. */
  readonly configured: Values
  /** Stores what requests have set; durable when it resolves. */
  readonly keep: (dynamic: Changes) => Promise<void>
  /** The metadata in force is another. */
  readonly changed: () => void
}

/** The metadata of the node: what the operator has configured, and what requests set over it. */
export class NodeMetadata {
  readonly #options: NodeMetadataOptions
  #dynamic: Changes = {}

  constructor(options: NodeMetadataOptions) {
    this.#options = options
  }

  /** What an agent before this one has kept. */
  restore(dynamic: Changes | undefined): void {
    this.#dynamic = dynamic ?? {}
  }

  /** In force. */
  values(): Values {
    const all = Object.entries({ ...this.#options.configured, ...this.#dynamic })
    return Object.fromEntries(
      all.flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
    )
  }

  read(): NodeMeta {
    return { Meta: this.values(), Dynamic: this.#dynamic, Static: this.#options.configured }
  }

  async apply(changes: Changes): Promise<NodeMeta> {
    const dynamic = overlaid(this.#dynamic, changes, this.#options.configured)
    refuseInvalid(changes, Object.keys(dynamic).length)
    await this.#options.keep(dynamic)
    this.#dynamic = dynamic
    this.#options.changed()
    return this.read()
  }
}

/** Null takes a value away: that of a request is gone, that of the configuration is hidden. */
function overlaid(dynamic: Changes, changes: Changes, configured: Values): Changes {
  const entries = Object.entries({ ...dynamic, ...changes })
  return Object.fromEntries(
    entries.filter(([name, value]) => value !== null || Object.hasOwn(configured, name)),
  )
}

/** As the configuration has them: names without spaces, values of one line. */
const NAME = /^\S{1,128}$/
const VALUE = /^[^\p{Cc}]{0,4096}$/u

function refuseInvalid(changes: Changes, count: number): void {
  for (const [name, value] of Object.entries(changes)) {
    if (!NAME.test(name))
      throw new RemoteRefusal(400, 'a name of metadata has 1 to 128 characters and no spaces')
    if (value !== null && !VALUE.test(value))
      throw new RemoteRefusal(
        400,
        `metadata ${name}: a value is one line of at most 4096 characters`,
      )
  }
  if (count > LIMITS.nodeMetaMax)
    throw new RemoteRefusal(400, `a node has at most ${LIMITS.nodeMetaMax} values of metadata`)
}
