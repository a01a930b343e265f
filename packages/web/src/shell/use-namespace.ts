import { ALL_NAMESPACES } from '../paths.ts'
import { useLocation } from '../routing/location.ts'

/** Returns the namespace of the URL; all namespaces by default. */
export function useNamespace(): string {
  return useLocation().searchParams.get('namespace') ?? ALL_NAMESPACES
}
