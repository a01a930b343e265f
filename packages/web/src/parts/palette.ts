const COLOURS = [
  'text',
  'quiet',
  'sunken',
  'line-strong',
  'good',
  'busy',
  'warn',
  'bad',
  'accent',
  'surface',
] as const
export type Palette = Readonly<Record<(typeof COLOURS)[number], string>>

/** A canvas knows no `light-dark()`: the browser works out which of the two each colour is. */
export function readPalette(): Palette {
  const probe = document.createElement('span')
  document.body.append(probe)
  const read = (name: string) => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
  // The entries are the list's names, each once.
  const palette = Object.fromEntries(COLOURS.map((name) => [name, read(name)])) as Palette
  probe.remove()
  return palette
}
