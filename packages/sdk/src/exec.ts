export interface ExecSession { readonly exit: Promise<number> }
