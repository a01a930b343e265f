import { DOCKER_LIMITS } from './docker-limits.ts'
import { getPath, numberAt, tryParseJson, stringAt } from './engine.ts'

interface LayerProgress {
  readonly received: number
  readonly total: number
  readonly isDone: boolean
}

/** What the lines of a pull have told so far. Bounded, whatever a registry makes the engine say. */
export class PullProgress {
  readonly #layers = new Map<string, LayerProgress>()
  #error = ''
  #lastLine = ''
  #partialLine = ''
  #isSkippingLine = false

  /** The engine answers 200 before it tries; what became of it is in the lines after that. */
  get error(): string {
    return this.#error
  }

  /** The last line, for an engine that explains itself in no other way. */
  get lastLine(): string {
    return this.#lastLine
  }

  read(piece: string): void {
    const lines = (this.#partialLine + piece).split('\n')
    this.#partialLine = lines.pop() ?? ''
    for (const line of lines) {
      if (!this.#isSkippingLine) this.#parseLine(line)
      this.#isSkippingLine = false
    }
    if (this.#partialLine.length <= DOCKER_LIMITS.progressLineCharsMax) return
    this.#partialLine = ''
    this.#isSkippingLine = true
  }

  finish(): void {
    if (!this.#isSkippingLine) this.#parseLine(this.#partialLine)
    this.#partialLine = ''
  }

  #parseLine(line: string): void {
    if (line.trim() === '' || line.length > DOCKER_LIMITS.progressLineCharsMax) return
    this.#lastLine = line
    const entry = tryParseJson(line)
    this.#error =
      stringAt(entry, 'error') || stringAt(entry, 'errorDetail', 'message') || this.#error
    const id = stringAt(entry, 'id')
    const status = stringAt(entry, 'status')
    const state = LAYER_STATES[status]
    if (id === '' || state === undefined) return
    if (!this.#layers.has(id) && this.#layers.size >= DOCKER_LIMITS.layersMax) return
    this.#layers.set(id, nextLayer(this.#layers.get(id) ?? NEW_LAYER, state, entry))
  }

  /** `3 of 7 layers, 45 MiB of 120 MiB`; empty while nothing is known. */
  summary(): string {
    const layers = [...this.#layers.values()]
    if (layers.length === 0) return ''
    const doneCount = layers.filter(({ isDone }) => isDone).length
    const received = layers.reduce((sum, layer) => sum + layer.received, 0)
    const total = layers.reduce((sum, layer) => sum + layer.total, 0)
    const size = total === 0 ? '' : `, ${formatMiB(received)} of ${formatMiB(total)}`
    return `${doneCount} of ${layers.length} layers${size}`
  }
}

const NEW_LAYER: LayerProgress = { received: 0, total: 0, isDone: false }

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

function nextLayer(
  layer: LayerProgress,
  state: 'known' | 'downloading' | 'done',
  entry: unknown,
): LayerProgress {
  if (state === 'known') return layer
  if (state === 'done') return { ...layer, received: layer.total, isDone: true }
  const detail = getPath(entry, 'progressDetail')
  const total = Math.max(layer.total, numberAt(detail, 'total'))
  return { ...layer, received: Math.min(numberAt(detail, 'current'), total), total }
}

const BYTES_PER_MIB = 1024 * 1024

function formatMiB(bytes: number): string {
  const size = bytes / BYTES_PER_MIB
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} MiB`
}
