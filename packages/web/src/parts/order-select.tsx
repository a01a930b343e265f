import { hrefWith, navigate } from '../routing/location.ts'

/** The API walks its lists from either end. */
export function isNewestFirst(search: URLSearchParams): boolean {
  return search.get('order') !== 'oldest'
}

/** Which end of a list comes first; the choice is in the address. */
export function OrderSelect({ search }: { readonly search: URLSearchParams }) {
  return (
    <select
      aria-label="Order"
      value={isNewestFirst(search) ? '' : 'oldest'}
      onChange={({ target }) => navigate(hrefWith({ order: target.value }), { replace: true })}
    >
      <option value="">Newest first</option>
      <option value="oldest">Oldest first</option>
    </select>
  )
}
