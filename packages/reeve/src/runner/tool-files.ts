// tidy-allow vendor: names of files that the tool itself reads and writes

export const STATE_FILE = 'terraform.tfstate'
export const LOCK_FILE = '.terraform.lock.hcl'
export const PLAN_FILE = 'reeve.tfplan'
export const GENERATED_FILE = 'generated.tf'

/** Replaces the backend of the configuration, so that the state is a local file. */
export const BACKEND_OVERRIDE = 'terraform {\n  backend "local" {}\n}\n'
export const OVERRIDE_FILE = 'zz_reeve_override.tf'
