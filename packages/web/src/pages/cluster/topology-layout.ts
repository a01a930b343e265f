/** Something that is drawn as a box whose width is what it has. */
export interface Sized {
  readonly id: string
  /** Nodes of one group stand together under its name. */
  readonly group: string
  readonly capacity: number
}

export interface Box {
  /** In the list of nodes. */
  readonly index: number
  readonly x: number
  readonly y: number
  readonly width: number
}

export interface GroupHead {
  readonly text: string
  readonly y: number
}

export interface Layout {
  /** In the order of reading: row by row. */
  readonly boxes: readonly Box[]
  readonly heads: readonly GroupHead[]
  readonly height: number
  readonly boxHeight: number
  /** Whether there is room for names. */
  readonly hasNames: boolean
}

const HEAD_PX = 28
const GAP_PX = 4
const WIDTH_PX_MIN = 8

/** The fewer nodes there are, the more room each gets: up to, width of the largest, height. */
const SCALES = [
  { nodes: 6, width: 960, height: 56 },
  { nodes: 60, width: 300, height: 44 },
  { nodes: 600, width: 120, height: 32 },
  { nodes: Infinity, width: 48, height: 16 },
] as const

/** From left to right and from top to bottom; the same nodes give the same picture. */
export function layoutOf(nodes: readonly Sized[], width: number): Layout {
  const scale = SCALES.find((one) => nodes.length <= one.nodes) ?? SCALES[3]
  const largest = Math.max(1, ...groupsOf(nodes).map(([, list]) => largestOf(nodes, list)))
  const perUnit = Math.min(scale.width, width) / largest
  const boxes: Box[] = []
  const heads: GroupHead[] = []
  let y = 0
  for (const [text, list] of groupsOf(nodes)) {
    heads.push({ text, y })
    y += HEAD_PX
    let x = 0
    for (const index of list) {
      const wide = Math.max(WIDTH_PX_MIN, (nodes[index]?.capacity ?? 0) * perUnit)
      if (x > 0 && x + wide > width) {
        x = 0
        y += scale.height + GAP_PX
      }
      boxes.push({ index, x, y, width: wide })
      x += wide + GAP_PX
    }
    y += scale.height + GAP_PX * 3
  }
  return { boxes, heads, height: y, boxHeight: scale.height, hasNames: scale.height >= 32 }
}

function largestOf(nodes: readonly Sized[], list: readonly number[]): number {
  return list.reduce((most, index) => Math.max(most, nodes[index]?.capacity ?? 0), 0)
}

function groupsOf(nodes: readonly Sized[]): readonly (readonly [string, readonly number[]])[] {
  const groups = new Map<string, number[]>()
  for (const [index, { group }] of nodes.entries()) {
    const list = groups.get(group)
    if (list === undefined) groups.set(group, [index])
    else list.push(index)
  }
  return [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** The boxes that are seen between two heights. They are in order, so the search is short. */
export function boxesBetween(layout: Layout, from: number, to: number): readonly Box[] {
  const { boxes, boxHeight } = layout
  let low = 0
  let high = boxes.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((boxes[middle]?.y ?? 0) + boxHeight < from) low = middle + 1
    else high = middle
  }
  let end = low
  while (end < boxes.length && (boxes[end]?.y ?? 0) <= to) end += 1
  return boxes.slice(low, end)
}

/** The place in `boxes` of the one at a point; -1 when there is none. */
export function boxAt(layout: Layout, x: number, y: number): number {
  const [first] = boxesBetween(layout, y, y)
  if (first === undefined) return -1
  for (let place = layout.boxes.indexOf(first); place < layout.boxes.length; place++) {
    const box = layout.boxes[place]
    if (box === undefined || box.y > y) return -1
    if (x >= box.x && x <= box.x + box.width && y <= box.y + layout.boxHeight) return place
  }
  return -1
}
