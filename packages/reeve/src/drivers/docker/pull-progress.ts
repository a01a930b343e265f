import { DOCKER_LIMITS } from './docker-limits.ts'
import { member, numberAt, parsed, textAt } from './engine.ts'

interface Layer {
  readonly received: number
  readonly total: number
  readonly isDone: boolean
}

/** What the lines of a pull have told so far. Bounded, whatever a registry makes the engine say. */
export class PullProgress {
  readonly #layers = new Map<string, Layer>()
  #error = ''
  #last = ''
  #rest = ''
  #isSkipping = false

  /** The engine answers 200 before it tries; what became of it is in the lines after that. */
  get error(): string {
    return this.#error
  }

  /** The last line, for an engine that explains itself in no other way. */
  get last(): string {
    return this.#last
  }

  read(piece: string): void {
    const lines = (this.#rest + piece).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) {
      if (!this.#isSkipping) this.#note(line)
      this.#isSkipping = false
    }
    if (this.#rest.length <= DOCKER_LIMITS.progressLineCharsMax) return
    this.#rest = ''
    this.#isSkipping = true
  }

  end(): void {
    if (!this.#isSkipping) this.#note(this.#rest)
    this.#rest = ''
  }

  #note(line: string): void {
    if (line.trim() === '' || line.length > DOCKER_LIMITS.progressLineCharsMax) return
    this.#last = line
    const entry = parsed(line)
    this.#error = textAt(entry, 'error') || textAt(entry, 'errorDetail', 'message') || this.#error
    const id = textAt(entry, 'id')
    const status = textAt(entry, 'status')
    const state = LAYER_STATES[status]
    if (id === '' || state === undefined) return
    if (!this.#layers.has(id) && this.#layers.size >= DOCKER_LIMITS.layersMax) return
    this.#layers.set(id, nextLayer(this.#layers.get(id) ?? NEW_LAYER, state, entry))
  }

  /** `3 of 7 layers, 45 MiB of 120 MiB`; empty while nothing is known. */
  summary(): string {
    const layers = [...this.#layers.values()]
    if (layers.length === 0) return ''
    const done = layers.filter(({ isDone }) => isDone).length
    const received = layers.reduce((sum, layer) => sum + layer.received, 0)
    const total = layers.reduce((sum, layer) => sum + layer.total, 0)
    const size = total === 0 ? '' : `, ${inMiB(received)} of ${inMiB(total)}`
    return `${done} of ${layers.length} layers${size}`
  }
}

const NEW_LAYER: Layer = { received: 0, total: 0, isDone: false }

/** What the engine's words mean for a layer. */
const LAYER_STATES: Readonly<Record<string, 'known' | 'downloading' | 'done'>> = {
  'Pulling fs layer': 'known',
  Waiting: 'known',
  Downloading: 'downloading',
  'Verifying Checksum': 'known',
  'Download complete': 'done',
  'Pull complete': 'done',
  'Already exists': 'done',
}

function nextLayer(layer: Layer, state: 'known' | 'downloading' | 'done', entry: unknown): Layer {
  if (state === 'known') return layer
  if (state === 'done') return { ...layer, received: layer.total, isDone: true }
  const detail = member(entry, 'progressDetail')
  const total = Math.max(layer.total, numberAt(detail, 'total'))
  return { ...layer, received: Math.min(numberAt(detail, 'current'), total), total }
}

const BYTES_PER_MIB = 1024 * 1024

function inMiB(bytes: number): string {
  const size = bytes / BYTES_PER_MIB
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} MiB`
}
