/** A loading text; the style sheet shows it only after a delay. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p className="loading" role="status">
      Loading {what}…
    </p>
  )
}
