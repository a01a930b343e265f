/** A node that is drawn as a box; its width is its capacity. */
export interface SizedNode {
  readonly id: string
  /** Nodes of one group are drawn under one heading. */
  readonly group: string
  readonly capacity: number
}

export interface NodeBox {
  /** Index in the list of nodes. */
  readonly index: number
  readonly x: number
  readonly y: number
  readonly width: number
}

export interface GroupHeading {
  readonly text: string
  readonly y: number
}

export interface Layout {
  /** Row by row. */
  readonly boxes: readonly NodeBox[]
  readonly headings: readonly GroupHeading[]
  readonly height: number
  readonly boxHeight: number
  /** Whether boxes are high enough for names. */
  readonly hasNames: boolean
}

const HEADING_PX = 28
const GAP_PX = 4
const WIDTH_PX_MIN = 8

/** Box sizes: maximum number of nodes, width of the largest box, height. */
const SCALES = [
  { nodes: 6, width: 960, height: 56 },
  { nodes: 60, width: 300, height: 44 },
  { nodes: 600, width: 120, height: 32 },
  { nodes: Infinity, width: 48, height: 16 },
] as const

/** Arranges the boxes in rows; equal nodes give an equal layout. */
export function computeLayout(nodes: readonly SizedNode[], width: number): Layout {
  const scale = SCALES.find((one) => nodes.length <= one.nodes) ?? SCALES[3]
  const largest = Math.max(1, ...groupsOf(nodes).map(([, list]) => largestCapacity(nodes, list)))
  const perUnit = Math.min(scale.width, width) / largest
  const boxes: NodeBox[] = []
  const headings: GroupHeading[] = []
  let y = 0
  for (const [text, list] of groupsOf(nodes)) {
    headings.push({ text, y })
    y += HEADING_PX
    let x = 0
    for (const index of list) {
      const boxWidth = Math.max(WIDTH_PX_MIN, (nodes[index]?.capacity ?? 0) * perUnit)
      if (x > 0 && x + boxWidth > width) {
        x = 0
        y += scale.height + GAP_PX
      }
      boxes.push({ index, x, y, width: boxWidth })
      x += boxWidth + GAP_PX
    }
    y += scale.height + GAP_PX * 3
  }
  return { boxes, headings, height: y, boxHeight: scale.height, hasNames: scale.height >= 32 }
}

function largestCapacity(nodes: readonly SizedNode[], list: readonly number[]): number {
  return list.reduce((most, index) => Math.max(most, nodes[index]?.capacity ?? 0), 0)
}

function groupsOf(nodes: readonly SizedNode[]): readonly (readonly [string, readonly number[]])[] {
  const groups = new Map<string, number[]>()
  for (const [index, { group }] of nodes.entries()) {
    const list = groups.get(group)
    if (list === undefined) groups.set(group, [index])
    else list.push(index)
  }
  return [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** Returns the boxes between two heights, by binary search. */
export function boxesBetween(layout: Layout, from: number, to: number): readonly NodeBox[] {
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

/** Returns the index in `boxes` of the box at a point; -1 if there is none. */
export function boxIndexAt(layout: Layout, x: number, y: number): number {
  const [first] = boxesBetween(layout, y, y)
  if (first === undefined) return -1
  for (let boxIndex = layout.boxes.indexOf(first); boxIndex < layout.boxes.length; boxIndex++) {
    const box = layout.boxes[boxIndex]
    if (box === undefined || box.y > y) return -1
    if (x >= box.x && x <= box.x + box.width && y <= box.y + layout.boxHeight) return boxIndex
  }
  return -1
}
