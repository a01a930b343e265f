const PALETTE_COLOURS = [
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
export type Palette = Readonly<Record<(typeof PALETTE_COLOURS)[number], string>>

/** Lets the browser resolve `light-dark()`, which a canvas does not support. */
export function readPalette(): Palette {
  const probe = document.createElement('span')
  document.body.append(probe)
  const read = (name: string) => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
  // The entries are the list's names, each once.
  const palette = Object.fromEntries(PALETTE_COLOURS.map((name) => [name, read(name)])) as Palette
  probe.remove()
  return palette
}
